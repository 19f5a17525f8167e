package import GatewayClient
package import Logging

/// Sends the requests of one writer, patiently: what may pass is tried again, what is too much at once is halved, and a
/// document that can't be written is found so that the others can.
package struct BulkSender {
    /// Failures of one request after which it goes on in halves: something in it may be the cause.
    private static let failuresBeforeHalving = 3
    /// Failures of a single document that speak against it, after which it is given up.
    private static let failuresBeforeRejecting = 10
    /// The same where the gateway's words tell that it is the document.
    private static let ownFailuresBeforeRejecting = 3
    /// For how long a document may hold up a writer where nothing tells whether it is to blame.
    private static let longestDoubt: Duration = .seconds(600)

    /// Bytes of an answer that can be held.
    package static let answerLimit = 256 << 20
    /// Bytes of an answer for several documents: more of them are asked for in parts.
    private static let answerLimitForSeveral = 8 << 20

    private struct Part<Subject: Sendable> {
        let writes: ArraySlice<PlannedWrite<Subject>>
        var failures = 0
        /// Those between which others got through, or the gateway answered other questions.
        var blame = 0
        var begun: ContinuousClock.Instant?
        /// Bytes of the run that had got through at the last failure.
        var bytesBefore: Int?
        /// Whether others got through since this part, or the one it is a half of, failed first.
        var othersPass = false
        /// Answers in a row that it can't be written now: the gateway's, or those of a proxy that lost it.
        var refusedForNow = 0

        /// Whether it is time to see if the gateway can't write now, or only this part.
        var isDoubtful: Bool { writes.count > 1 && refusedForNow >= BulkSender.failuresBeforeHalving }

        /// An outage says nothing of the documents.
        mutating func note(_ error: GatewayError, bytes: Int) {
            refusedForNow = error.code == .unavailable ? refusedForNow + 1 : 0
            if error.code == .unavailable, othersPass || bytesBefore.map({ bytes > $0 }) == true {
                // Others are written meanwhile: it is no outage.
            } else if !BulkSender.mayBeOfDocuments(error) {
                (failures, blame, begun) = (0, 0, nil)
                bytesBefore = error.code == .unavailable ? bytesBefore ?? bytes : nil
                return
            }
            if let bytesBefore, bytes > bytesBefore {
                othersPass = true
                blame += 1
            }
            (bytesBefore, begun) = (bytes, begun ?? .now)
            failures += 1
        }

        var halves: [Part] {
            let middle = writes.startIndex + writes.count / 2
            return [writes[..<middle], writes[middle...]].map {
                Part(writes: $0, bytesBefore: bytesBefore, othersPass: othersPass)
            }
        }
    }

    /// How often the gateway fell over a document while it wrote others.
    private struct Fall {
        var count = 0
        /// Bytes of the run that had got through by the last time.
        var bytes = 0
        var last = ContinuousClock.now
    }

    private static let mostFalls = 1000

    private var falls: [DocumentID: Fall] = [:]

    /// The longest Retry-After that a probe waits for.
    private static let longestHold: Duration = .seconds(60)
    /// Documents in a row that a firewall may refuse. After that, the firewall is taken to refuse all writes.
    private static let mostBarred = 20
    private var barred = 0

    private enum Advice {
        case halve, reject, wait
    }

    private let gateway: Gateway
    private let progress: RunProgress
    private let logger: Logger
    private let pace: WritePace
    private let pauses: Pauses
    private var patience: Patience
    /// With documents that the gateway does not decide about, although it answers.
    private var rowPatience: Patience

    package init(
        gateway: Gateway, progress: RunProgress, pace: WritePace, pauses: Pauses, patience: Patience, logger: Logger
    ) {
        self.gateway = gateway
        self.progress = progress
        self.pace = pace
        self.pauses = pauses
        self.patience = patience
        rowPatience = patience
        self.logger = logger
    }

    /// Writes documents. Each is answered for exactly once, part by part as answers come.
    ///
    /// - Parameter answered: Takes writes and their outcomes.
    /// - Throws: ``RunFailure`` when patience ends, `CancellationError`, what `answered` throws. Writes that were not
    ///   answered for by then may or may not have been made.
    mutating func send<Subject>(
        _ writes: ArraySlice<PlannedWrite<Subject>>,
        answered: (ArraySlice<PlannedWrite<Subject>>, [BulkOutcome]) async throws -> Void
    ) async throws {
        let gateway = gateway
        try await send(
            writes,
            by: { part async throws(GatewayError) in try await gateway.bulkDocs(part.map(\.document)) },
            answered: answered)
    }

    /// The same for what is not written by `_bulk_docs` as it stands.
    ///
    /// - Parameter write: One request; gives an outcome for each of its writes.
    package mutating func send<Subject>(
        _ writes: ArraySlice<PlannedWrite<Subject>>,
        by write: (ArraySlice<PlannedWrite<Subject>>) async throws(GatewayError) -> [BulkOutcome],
        answered: (ArraySlice<PlannedWrite<Subject>>, [BulkOutcome]) async throws -> Void
    ) async throws {
        var parts = [Part(writes: writes)]
        while var part = parts.popLast() {
            if part.isDoubtful, await letsWritesPass() {
                parts.append(contentsOf: part.halves.reversed())
                continue
            }
            try await pauses.wait(until: await pace.turn(for: part.writes.count))
            let outcomes: [BulkOutcome]
            do throws(GatewayError) {
                let answers = try await write(part.writes)
                if let failure = failure(of: answers, part.writes, bytes: await progress.counters.bytesOut) {
                    throw failure
                }
                outcomes = await judged(answers, part.writes)
            } catch {
                part.note(error, bytes: await progress.counters.bytesOut)
                switch try await advice(after: error, &part) {
                case .halve: parts.append(contentsOf: part.halves.reversed())
                case .reject: try await answered(part.writes, [Self.rejection(error)])
                // Behind the others: they need not wait for it, and show whether it is to blame.
                case .wait: parts.insert(part, at: 0)
                }
                continue
            }
            patience.succeed()
            await pace.noteWritten(part.writes.count)
            try await answered(part.writes, outcomes)
            try await pause(after: outcomes)
        }
    }

    /// Rows that all tell of a gateway that fell over them are no better than an answer that does, unless it is known
    /// that it falls over these documents only.
    private func failure<Subject>(
        of outcomes: [BulkOutcome], _ writes: ArraySlice<PlannedWrite<Subject>>, bytes: Int
    ) -> GatewayError? {
        var words: String?
        for (write, outcome) in zip(writes, outcomes) {
            guard case .failed(let reason) = outcome else { return nil }
            let isKnown = outcome.isOwnFailure || fell(write.document.id).map { $0.bytes < bytes } ?? false
            if !isKnown { words = reason }
        }
        let isOwn = outcomes.contains { $0.isOwnFailure }
        return isOwn ? nil : words.map { GatewayError(.serverError, $0, status: 500) }
    }

    /// The outcomes of an answer that is no outage's. Documents over which the gateway falls again and again, while it
    /// writes others, are given up.
    private mutating func judged<Subject>(
        _ outcomes: [BulkOutcome], _ writes: ArraySlice<PlannedWrite<Subject>>
    ) async -> [BulkOutcome] {
        let before = await progress.counters.bytesOut
        let written = zip(writes, outcomes).reduce(0) { $0 + ($1.1.isWritten ? $1.0.document.byteCount : 0) }
        await progress.count { $0.bytesOut += written }
        var counted: Set<DocumentID> = []
        return zip(writes, outcomes).map { write, outcome in
            let id = write.document.id
            guard case .failed(let reason) = outcome else {
                if outcome.isWritten { (falls[id], barred) = (nil, 0) }
                return outcome
            }
            var fall = fell(id) ?? Fall()
            guard written > 0 || outcome.isOwnFailure || fall.count > 0 && fall.bytes < before else {
                // Beside failures that are the documents' own there may be those of an outage.
                return outcomes.contains(where: \.isOwnFailure) ? .undecided(reason: reason) : outcome
            }
            if counted.insert(id).inserted { fall.count += 1 }
            (fall.bytes, fall.last) = (before + written, .now)
            let limit = outcome.isOwnFailure ? Self.ownFailuresBeforeRejecting : Self.failuresBeforeRejecting
            note(fall.count < limit ? fall : nil, id)
            return fall.count < limit ? outcome : .rejected(status: 500, reason: reason)
        }
    }

    /// Nil if that is long ago.
    private func fell(_ id: DocumentID) -> Fall? {
        falls[id].flatMap { $0.last.duration(to: .now) < Self.longestDoubt ? $0 : nil }
    }

    /// Documents may be done with in other ways: what is old goes.
    private mutating func note(_ fall: Fall?, _ id: DocumentID) {
        falls[id] = fall
        guard falls.count > Self.mostFalls else { return }
        falls = falls.filter { $0.value.last.duration(to: .now) < Self.longestDoubt }
    }

    private static func rejection(_ error: GatewayError) -> BulkOutcome {
        .rejected(status: error.status ?? 0, reason: error.message)
    }

    /// A gateway, or a proxy, that falls over a document may just hang up.
    private static func mayBeOfDocuments(_ error: GatewayError) -> Bool {
        [.serverError, .malformedAnswer, .timedOut, .connectionLost].contains(error.code)
    }

    /// What is to be done about a part that failed, once it has been waited for as long as is good.
    private mutating func advice<Subject>(
        after error: GatewayError, _ part: inout Part<Subject>
    ) async throws -> Advice {
        let isOne = part.writes.count == 1
        switch error.code {
        // 413; and 400, 409, 412 of the whole call: CouchDB refuses all for one bad document.
        case .tooLarge, .badRequest, .conflict: return isOne ? .reject : .halve
        case _ where Self.mayBeOfDocuments(error):
            if !isOne, part.failures >= Self.failuresBeforeHalving { return .halve }
            if isOne, try await isToBlame(&part, error) { return .reject }
        // Other writes succeed while it keeps failing. An overloaded gateway answers 503 to any document, so 503 needs more.
        case .unavailable where isOne && part.blame >= Self.failuresBeforeRejecting * (error.status == 503 ? 3 : 1):
            return .reject
        // A firewall before the gateway does not let one of these documents pass: others, or none, it does.
        case .forbidden, .notFound, .notOffered:
            if barred < Self.mostBarred, await letsWritesPass() {
                if isOne { barred += 1 }
                return isOne ? .reject : .halve
            }
        default: break
        }
        do { try await wait(after: error) } catch let failure as RunFailure {
            // Others passed, and the gateway is there: it is this one that can't be written.
            let hasFallen = part.writes.first.flatMap { fell($0.document.id) } != nil
            let isOfDocument = Self.mayBeOfDocuments(error) || error.code == .unavailable
            let isAlone = isOne && (part.othersPass || hasFallen) && isOfDocument
            guard isAlone, await gatewayAnswers() else { throw failure }
            patience.succeed()
            return .reject
        }
        return .wait
    }

    /// Whether a single document, and no outage, is why it fails time after time.
    private func isToBlame<Subject>(_ part: inout Part<Subject>, _ error: GatewayError) async throws -> Bool {
        guard part.failures > 1 else { return false }
        // One that hangs up on this document only. What fails to write may well answer other questions.
        if error.code != .serverError, part.blame < part.failures - 1, await gatewayAnswers() { part.blame += 1 }
        if part.blame >= Self.failuresBeforeRejecting { return true }
        guard part.failures >= Self.failuresBeforeRejecting, let begun = part.begun,
            begun.duration(to: .now) >= Self.longestDoubt
        else { return false }
        return await gatewayAnswers()
    }

    /// Whether this user may write at all, and the gateway can now: a write of no documents is let through.
    private func letsWritesPass() async -> Bool {
        do throws(GatewayError) {
            try await afterHold { () async throws(GatewayError) in _ = try await gateway.bulkDocs([]) }
            return true
        } catch {
            return false
        }
    }

    /// Asks the gateway, after the time that it has asked for.
    private func afterHold(_ question: () async throws(GatewayError) -> Void) async throws(GatewayError) {
        do throws(GatewayError) { return try await question() } catch {
            guard error.isHeldBack, let hold = error.retryAfter, hold <= Self.longestHold,
                (try? await pauses.wait(hold)) != nil
            else { throw error }
        }
        try await question()
    }

    /// CouchDB 3.5 may send stray bytes behind an answer to a bad id: the next request on that connection fails.
    private func gatewayAnswers() async -> Bool {
        for _ in 0..<3 {
            do throws(GatewayError) {
                try await afterHold { () async throws(GatewayError) in _ = try await gateway.databaseInfo() }
                return true
            } catch {
                guard [.malformedAnswer, .connectionLost].contains(error.code) else { return false }
            }
        }
        return false
    }

    /// Reads documents as they are now, one lookup per id.
    ///
    /// An answer that is too long to be held is asked for in halves; a single document that is, is refused.
    /// So is, in the end, one whose answer never is JSON: a poison document must not keep the others from being read.
    ///
    /// - Parameters:
    ///   - includesBodies: If not, documents that are found have `{}`.
    ///   - limit: Bytes of an answer for several documents.
    package mutating func lookUp(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = Self.answerLimitForSeveral
    ) async throws -> [DocumentLookup] {
        var failures = 0
        while true {
            do throws(GatewayError) {
                let lookups = try await gateway.currentDocuments(
                    Array(ids), includesBodies: includesBodies, limit: ids.count > 1 ? limit : Self.answerLimit)
                patience.succeed()
                return lookups
            } catch {
                failures = Self.mayBeOfDocuments(error) ? failures + 1 : 0
                let failureLimit = ids.count > 1 ? Self.failuresBeforeHalving : Self.failuresBeforeRejecting
                var isRefusal = error.code == .tooLarge || error.code == .badRequest
                if error.code == .forbidden { isRefusal = await gatewayAnswers() }
                guard isRefusal || failures >= failureLimit else {
                    try await wait(after: error)
                    continue
                }
                guard ids.count > 1 else {
                    // Only if it is about this document: the gateway answers properly otherwise.
                    if await gatewayAnswers() { return [.refused(reason: error.message)] }
                    try await wait(after: error)
                    continue
                }
                let middle = ids.startIndex + ids.count / 2
                return try await lookUp(ids[..<middle], includesBodies: includesBodies, limit: limit)
                    + lookUp(ids[middle...], includesBodies: includesBodies, limit: limit)
            }
        }
    }

    /// Waits before documents are written again that the gateway could not decide about; longer each time in a row.
    ///
    /// - Throws: ``RunFailure`` once a one-shot job has waited long enough: a disk that is full does not heal by itself.
    private mutating func pause(after outcomes: [BulkOutcome]) async throws {
        let reasons = outcomes.compactMap { outcome -> String? in
            switch outcome {
            case .undecided(let reason), .failed(let reason): reason
            case .unmentioned: outcome.words
            default: nil
            }
        }
        if reasons.isEmpty || outcomes.contains(where: \.isWritten) { rowPatience.succeed() }
        guard let reason = reasons.first else { return }
        let error = GatewayError(.unavailable, "\(gateway.url) answers for a document: \(reason)")
        switch rowPatience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning(
                "the gateway could not write documents now; trying again",
                metadata: [
                    "documents": .stringConvertible(reasons.count), "reason": "\(reason)", "wait": "\(delay.text)",
                ])
            await progress.count { $0.retries += 1 }
            try await pauses.wait(delay)
        }
    }

    private mutating func wait(after error: GatewayError) async throws {
        if error.code == .cancelled { throw CancellationError() }
        if error.code == .tooManyRequests || error.code == .unavailable {
            await pace.noteRefusal(retryAfter: error.retryAfter)
        }
        switch patience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning("a write failed; trying again", metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
            await progress.count { $0.retries += 1 }
            try await pauses.wait(delay)
        }
    }
}

extension BulkOutcome {
    fileprivate var isWritten: Bool {
        if case .written = self { true } else { false }
    }
}
