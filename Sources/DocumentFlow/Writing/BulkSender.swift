package import GatewayClient
package import Logging

/// Sends the writes of one writer. Retries temporary failures, halves requests that are too large, and isolates
/// documents that can't be written.
///
/// ``WriteFailurePolicy`` and ``DocumentFailures`` interpret failures; this type sends and waits.
package struct BulkSender {
    private struct Part {
        let documents: ArraySlice<BulkDocument>
        var failurePolicy: WriteFailurePolicy

        var byteCount: Int { documents.reduce(0) { $0 + $1.byteCount } }

        var halves: [Part] {
            let middle = documents.startIndex + documents.count / 2
            return [documents[..<middle], documents[middle...]].map {
                Part(documents: $0, failurePolicy: failurePolicy.part(documents: $0.count))
            }
        }
    }

    private let gateway: Gateway
    private let probe: GatewayProbe
    private let progress: RunProgress
    private let pace: WritePace
    private let pauses: Pauses
    private let logger: Logger
    private let observer: (any RunObserver)?
    private let requireTenure: (@Sendable () throws -> Void)?
    private var failures = DocumentFailures()
    private var retrier: Retrier
    /// For documents whose result stays undecided although the gateway answers.
    private var rowRetrier: Retrier
    /// Reads the documents of the same keyspace.
    package var reader: CurrentDocumentReader

    /// - Parameter policy: Copied: writes, undecided documents and ``reader`` count their failures separately.
    package init(
        gateway: Gateway, progress: RunProgress, pace: WritePace, pauses: Pauses, policy: RetryPolicy, logger: Logger
    ) {
        self.gateway = gateway
        self.progress = progress
        self.pace = pace
        self.pauses = pauses
        self.logger = logger
        observer = policy.settings.observer
        requireTenure = policy.settings.requireTenure
        probe = GatewayProbe(gateway: gateway, pauses: pauses)
        let noteRetry: @Sendable () async -> Void = { await progress.noteRetry() }
        retrier = Retrier(policy, pauses: pauses, logger: logger, noteRetry: noteRetry)
        rowRetrier = retrier
        reader = CurrentDocumentReader(
            gateway: gateway, policy: policy, pauses: pauses, pace: pace, logger: logger, noteRetry: noteRetry)
    }

    /// Writes documents and reports the outcome of each exactly once, in parts as answers arrive.
    ///
    /// - Parameter answered: Receives writes and their outcomes.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`, and errors of `answered`. Writes
    ///   that were not reported by then may or may not have happened.
    package mutating func send(
        _ documents: ArraySlice<BulkDocument>, answered: (Range<Int>, [BulkOutcome]) async throws -> Void
    ) async throws {
        let gateway = gateway
        try await send(
            documents, by: { part async throws(GatewayError) in try await gateway.bulkDocs(Array(part)) },
            answered: answered)
    }

    /// Like the other `send`, with a request other than `_bulk_docs`.
    ///
    /// - Parameters:
    ///   - isPut: Whether the request is a `PUT` of one document.
    ///   - write: Sends one request and returns an outcome for each of its writes.
    package mutating func send(
        _ documents: ArraySlice<BulkDocument>, isPut: Bool = false,
        by write: (ArraySlice<BulkDocument>) async throws(GatewayError) -> [BulkOutcome],
        answered: (Range<Int>, [BulkOutcome]) async throws -> Void
    ) async throws {
        var parts = [
            Part(documents: documents, failurePolicy: WriteFailurePolicy(documents: documents.count, isPut: isPut))
        ]
        while let part = parts.popLast() {
            if part.failurePolicy.needsProbe, await answer(to: .writesAreAllowed) {
                parts.append(contentsOf: part.halves.reversed())
                continue
            }
            try await waitToSend(part.documents)
            let outcomes: [BulkOutcome]
            let sentAt = ContinuousClock.now
            do throws(GatewayError) {
                outcomes = try await self.outcomes(of: part.documents, try await write(part.documents))
            } catch {
                if let rejection = try await handle(error, part, &parts) {
                    try await answered(part.documents.indices, [rejection])
                }
                continue
            }
            observer?.note(.sent(sentAt.duration(to: .now)))
            retrier.succeed()
            await pace.noteWritten(part.documents.count, bytes: part.byteCount)
            try await answered(part.documents.indices, outcomes)
            try await pause(after: outcomes)
        }
    }

    /// Handles a failed part: schedules it or its halves to be sent again, or gives its document up.
    ///
    /// - Returns: The outcome of its document if it is not sent again.
    private mutating func handle(
        _ error: GatewayError, _ failed: Part, _ parts: inout [Part]
    ) async throws -> BulkOutcome? {
        var part = failed
        // If this grows while the part fails, other writes succeed.
        part.failurePolicy.note(error, writtenByRun: await progress.counters.traffic.bytesOut)
        part.failurePolicy.limits = failures.limits(
            afterCutRequestOf: part.failurePolicy.isPut ? .max : part.byteCount,
            largestWritten: await pace.largestWritten)
        switch try await advice(after: error, &part) {
        case .halve: parts.append(contentsOf: part.halves.reversed())
        case .reject:
            // The gateway answers, so the wait for this document is neither an outage nor part of the next one.
            retrier.succeed()
            if error.isCut { failures.noteCut() }
            return Self.rejection(error)
        // The part goes last: the others need not wait for it, and show whether it is the cause.
        case .wait, .ask: parts.insert(part, at: 0)
        }
        return nil
    }

    /// The outcomes of documents, given the rows of the answer.
    ///
    /// - Throws: The error of the whole answer, if that is what its rows show.
    private mutating func outcomes(
        of documents: ArraySlice<BulkDocument>, _ answer: [BulkOutcome]
    ) async throws(GatewayError) -> [BulkOutcome] {
        let rows = zip(documents, answer).map { document, outcome in
            DocumentFailures.Row(id: document.id, bytes: document.byteCount, outcome: outcome)
        }
        let before = await progress.counters.traffic.bytesOut
        if let outage = failures.outage(in: rows, bytes: before) { throw outage }
        await progress.count {
            $0.traffic.bytesOut += rows.writtenBytes
            $0.traffic.writeRequests += 1
        }
        return failures.outcomes(for: rows, bytes: before)
    }

    private static func rejection(_ error: GatewayError) -> BulkOutcome {
        let advice =
            error.isCut
            ? "; other requests are answered, so this one may be too large: raise the limit of the proxy, or CouchDB's "
                + "max_http_request_size" : ""
        return .rejected(status: error.status ?? 0, reason: error.message + advice)
    }

    /// What to do with a part that failed. Waits before returning if it must be retried.
    private mutating func advice(
        after error: GatewayError, _ part: inout Part
    ) async throws -> WriteFailurePolicy.Advice {
        var advice = part.failurePolicy.advice(after: error, mayBeFirewall: failures.mayBeFirewall)
        if case .ask(let question) = advice {
            advice = part.failurePolicy.advice(given: await answer(to: question), to: question)
            if question == .writesAreAllowed, advice == .reject, !part.failurePolicy.mayBeRefusal(error),
                !part.failurePolicy.mayBeCausedByContent(error)
            {
                failures.noteFirewalled()
            }
        }
        guard advice == .wait else { return advice }
        do { try await wait(after: part.failurePolicy.outage(of: error)) } catch let failure as RunError {
            // Other writes succeed and the gateway answers: this document is the cause.
            let hasFailedBefore = part.documents.first.map { failures.hasFailed($0.id) } ?? false
            guard part.failurePolicy.mayBeCause(after: error, hasFailedBefore: hasFailedBefore),
                await answer(to: error.isCut ? .writesAreAllowed : .gatewayResponds)
            else { throw failure }
            return .reject
        }
        return .wait
    }

    private func answer(to question: WriteFailurePolicy.Question) async -> Bool {
        switch question {
        case .writesAreAllowed: await probe.acceptsWrites()
        case .gatewayResponds: await probe.isAnswered()
        }
    }

    // MARK: - Waiting

    /// Returns when a request with these documents may be sent.
    private func waitToSend(_ documents: ArraySlice<BulkDocument>) async throws {
        try await pauses.wait(until: await pace.reserveTime(for: documents.count))
        await progress.expiry.check(documents, at: gateway, logger)
        try requireTenure?()
    }

    /// Waits before undecided documents are written again; longer each consecutive time.
    ///
    /// - Throws: ``RunError`` once a one-shot job has waited long enough: a full disk does not recover by itself.
    private mutating func pause(after outcomes: [BulkOutcome]) async throws {
        let reasons = outcomes.compactMap { outcome -> String? in
            switch outcome {
            case .undecided(let reason), .failed(let reason): reason
            case .unmentioned: outcome.explanation
            default: nil
            }
        }
        if reasons.isEmpty || outcomes.contains(where: \.isWritten) { rowRetrier.succeed() }
        guard let reason = reasons.first else { return }
        let error = GatewayError(.unavailable, "\(gateway.url) could not write a document: \(reason)")
        try await rowRetrier.wait(
            after: error, "the gateway could not write documents now; trying again",
            [LogKey.documents: .stringConvertible(reasons.count), LogKey.reason: "\(reason)"])
    }

    private mutating func wait(after error: GatewayError) async throws {
        await pace.noteRefusal(error)
        try await retrier.wait(after: error, "a write failed; trying again")
    }
}

extension BulkOutcome {
    /// Why a document was not written, for users.
    package var explanation: String {
        switch self {
        case .written: "it was written"
        case .conflict: "other writers keep changing it"
        case .rejected(status: 0, let reason): "the gateway's answer for it is invalid: \(reason)"
        case .rejected(let status, let reason): "the gateway refused it (\(status)): \(reason)"
        case .failed(let reason): "the gateway failed to write it: \(reason)"
        case .undecided(let reason): "the gateway could not write it now: \(reason)"
        case .unmentioned: "the gateway's answer does not mention it"
        }
    }
}
