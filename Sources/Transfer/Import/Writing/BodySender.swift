internal import DocumentFlow
internal import GatewayClient

/// Sends bodies to the gateway: many per request, except for documents with large attachments.
struct BodySender: Sendable {
    let gateway: Gateway
    let progress: RunProgress

    typealias Planned = (open: PendingDocument, step: ImportStep)
    typealias Answer = (open: PendingDocument, outcome: BulkOutcome, wanted: ImportOutcome)

    private struct Write: Sendable {
        let position: Int
        let document: BulkDocument
        var attachments: [StreamedAttachment] = []
    }

    /// - Parameter lost: Receives the writes of requests that failed without an answer.
    func send(
        _ planned: [Planned], _ lost: inout UnansweredWrites, _ sender: inout BulkSender
    ) async throws -> [Answer] {
        var together: [Write] = []
        var alone: [Write] = []
        for (position, plan) in planned.enumerated() {
            let id = plan.open.document.id
            switch plan.step {
            case .nothing: break
            case .write(let body, _):
                together.append(Write(position: position, document: BulkDocument(id: id, segments: body.segments)))
            case .stream(let body, let attachments, _):
                alone.append(
                    Write(
                        position: position, document: BulkDocument(id: id, segments: body.segments),
                        attachments: attachments))
            }
        }
        var answers: [(position: Int, outcome: BulkOutcome)] = []
        for writes in [together] + alone.map({ [$0] }) where !writes.isEmpty {
            var unanswered: Set<Int> = []
            defer {
                for position in unanswered { lost.note(planned[position].open, wanted: planned[position].step.outcome) }
            }
            try await send(writes, &unanswered, &sender, &answers)
        }
        let written = answers.count {
            if case .written = $0.outcome { return true }
            return false
        }
        let conflicts = answers.count { $0.outcome == .conflict }
        await progress.count { counters in
            counters.written += written
            counters.conflicts += conflicts
        }
        return answers.map { (planned[$0.position].open, $0.outcome, planned[$0.position].step.outcome) }
    }

    /// - Parameter unanswered: Receives the positions of writes whose request failed without an answer: they may have
    ///   succeeded.
    private func send(
        _ writes: [Write], _ unanswered: inout Set<Int>, _ sender: inout BulkSender,
        _ answers: inout [(position: Int, outcome: BulkOutcome)]
    ) async throws {
        try await sender.send(
            writes.map(\.document)[...], isPut: writes.first?.attachments.isEmpty == false,
            by: { part async throws(GatewayError) in
                do throws(GatewayError) { return try await write(part, writes[part.startIndex].attachments) } catch {
                    if error.mayHaveWritten { unanswered.formUnion(writes[part.indices].map(\.position)) }
                    throw error
                }
            },
            answered: { answered, outcomes in
                answers += zip(writes[answered], outcomes).map { ($0.position, $1) }
            })
    }

    /// - Parameter attachments: The attachments that are sent with the single document.
    private func write(
        _ documents: ArraySlice<BulkDocument>, _ attachments: [StreamedAttachment]
    ) async throws(GatewayError) -> [BulkOutcome] {
        if let document = documents.first, !attachments.isEmpty {
            return [try await stream(document, attachments)]
        }
        return try await gateway.bulkDocs(Array(documents))
    }

    /// Writes one document with streamed attachments.
    private func stream(
        _ document: BulkDocument, _ attachments: [StreamedAttachment]
    ) async throws(GatewayError) -> BulkOutcome {
        let uploads = attachments.compactMap { attachment in
            attachment.source().map { source in
                AttachmentUpload(
                    name: attachment.name, contentType: attachment.contentType, digest: attachment.digest,
                    source: source)
            }
        }
        do throws(GatewayError) {
            let revision = try await gateway.put(
                document.id, body: Array(document.segments.joined()), attachments: uploads)
            let bytes = attachments.reduce(0) { $0 + $1.byteCount }
            await progress.count { $0.traffic.bytesOut += bytes }
            return .written(revision)
        } catch {
            switch error.code {
            case .conflict: return .conflict
            case .invalidRequest, .sourceFailed: return .rejected(status: 400, reason: error.message)
            // The sender determines whether this document is the cause.
            default: throw error
            }
        }
    }
}

extension GatewayError {
    /// Whether the request may have been carried out despite the error.
    fileprivate var mayHaveWritten: Bool {
        switch code {
        case .connectionLost, .timedOut, .serverError, .unavailable, .malformedAnswer: true
        default: false
        }
    }
}
