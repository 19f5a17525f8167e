internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

// The write of the changed documents themselves.
extension Round {
    /// Writes the documents, and ends the remaining candidates as the answers arrive.
    mutating func write(_ sender: inout BulkSender) async throws {
        let keepsContent = context.settings.observer?.needsDocuments == true
        var writing: [CandidateProgress] = []
        var requests: [OwnWriteRequest] = []
        for index in active.indices {
            guard active[index].plan?.decision.isChanged == true else {
                follow(active[index].endWithoutWrite(), of: index)
                continue
            }
            guard let request = active[index].makeWrite(keepsContent: keepsContent) else { continue }
            writing.append(active[index])
            requests.append(request)
        }
        active = []
        if outcomes.mustBeRecordedFirst, !requests.isEmpty { try await record() }
        for request in context.limits.requests(requests.map(\.document)) {
            try await sender.send(request, by: context.gateway.bulkDocsOrFault) { answered, bulkOutcomes in
                CrashPoint.written.pass()
                var written: [(progress: CandidateProgress, request: OwnWriteRequest)] = []
                for (index, outcome) in zip(answered, bulkOutcomes) {
                    let command = writing[index].take(outcome, attemptLimit: context.limits.attempts, now: .now)
                    outcomes.note(outcome, command)
                    follow(command, of: writing[index])
                    if outcome.isWritten { written.append((writing[index], requests[index])) }
                }
                context.note(written)
                try await record()
            }
        }
    }
}

extension Gateway {
    /// `bulkDocs`; with ``InjectedFault/lostAnswer``, a lost answer is taken for a good one.
    fileprivate func bulkDocsOrFault(_ documents: ArraySlice<BulkDocument>) async throws(GatewayError) -> [BulkOutcome]
    {
        do throws(GatewayError) { return try await bulkDocs(Array(documents)) } catch {
            guard InjectedFault.lostAnswer.isActive, error.code == .connectionLost else { throw error }
            return documents.map { _ in .written(RevisionID("0-lost")) }
        }
    }
}

extension RoundContext {
    /// Reports writes to the observer and the log.
    fileprivate func note(_ written: [(progress: CandidateProgress, request: OwnWriteRequest)]) {
        if let observer = settings.observer, !written.isEmpty {
            observer.note(
                .wrote(
                    written.suffix(observer.maxReportedWrites).map { progress, request in
                        shown(progress, request, withContent: observer.needsDocuments)
                    }))
        }
        guard logger.logLevel <= .debug else { return }
        for (progress, _) in written {
            let result = progress.result
            logger.debug(
                result.isDeletion ? "deleted a document" : "wrote a document",
                metadata: [
                    LogKey.id: "\(progress.candidate.id)",
                    LogKey.revision: "\(progress.candidate.content.revision?.text ?? "")",
                    LogKey.rules: .array(result.rules.map { "\($0)" }),
                ])
        }
    }

    private func shown(_ progress: CandidateProgress, _ request: OwnWriteRequest, withContent: Bool) -> WrittenDocument
    {
        let result = progress.result
        var written = WrittenDocument(
            id: progress.candidate.id, revision: progress.candidate.content.revision ?? RevisionID(""),
            rules: result.rules,
            isDeletion: result.isDeletion)
        if withContent {
            written.before = request.before
            written.after = result.isDeletion ? nil : try? JSONText(Array(request.document.segments.joined()))
        }
        return written
    }
}
