internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes the documents that hold totals.
///
/// It writes the current totals, whatever led to them: many changes of one total cause one write, and a repeated write
/// after a crash finds nothing to do. The feed never waits for it. Do not share it between tasks: its decider is not
/// shared.
package struct TotalsWriter {
    let counts: Counts
    let ledger: Ledger
    let queue: CandidateQueue
    let home: KeyspaceName
    let deadLettered: DeadLetteredDocuments
    let mode: Mode
    let settings: Delivery.Settings
    let logger: Logger
    /// Receives dead letters, and documents to decide.
    let intake: Intake
    var targets: TargetWriter

    /// The result of one pass over all changed totals.
    package struct PassResult {
        /// When the next postponed total may be written; nil if none is postponed.
        package var due: ContinuousClock.Instant?
        /// Whether documents were queued to be decided.
        package var hasQueued = false
    }

    /// Writes all totals that have changed, each once.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`.
    package mutating func writeAll() async throws -> PassResult {
        var passResult = PassResult()
        var last = ""
        while true {
            let totals = try await ledger.totalsToWrite(after: last, limit: settings.limits.documents)
            guard let end = totals.last else { return passResult }
            last = end.id.text
            // Other processes may count for rules that this process does not have.
            let own = totals.compactMap { $0.only { counts.name(of: $0) != nil } }
            if !own.isEmpty { try await write(own, &passResult) }
        }
    }

    private mutating func write(_ totals: [Ledger.TotalToWrite], _ passResult: inout PassResult) async throws {
        let orders = try totals.enumerated().map { index, total in
            PutOrder(plan: index, effect: try effect(total), rule: nil, home: home, chain: total.chain)
        }
        // They are written even if the decisions about the counted documents fail.
        let triggers = totals.map { Trigger(id: $0.id, revision: nil, isWritten: true, willBeDecidedAgain: true) }
        let held = totals.map(\.id)
        await queue.hold(held)
        let result: TargetResult
        do { result = try await targets.write(PutBatch(orders), triggers: triggers) } catch {
            await queue.release(held)
            throw error
        }
        await queue.release(held)
        if !result.documents.isEmpty { CrashPoint.totalsWritten.pass() }
        try await settle(totals, result)
        for due in result.postponed.values { passResult.due = min(due, passResult.due ?? due) }
        log(result.documents)
        if try await decide(result.documents) { passResult.hasQueued = true }
    }

    // MARK: - What is written

    /// The totals of all rules that count into the document. Totals with the same name are added.
    private func effect(_ total: Ledger.TotalToWrite) throws -> PutEffect {
        var totals: [(name: String, amount: DecimalAmount)] = []
        for part in total.parts {
            for (name, amount) in zip(counts.members(of: part.rule), part.amounts) {
                if let index = totals.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
                    totals[index].amount = totals[index].amount + amount
                } else {
                    totals.append((name, amount))
                }
            }
        }
        let isCreated = total.parts.contains { $0.contributors > 0 }
        return PutEffect.totals(
            id: total.id.text, try Self.object([], totals),
            creation: isCreated ? try Self.object(try Self.others(total), totals) : nil)
    }

    /// The members of a new document besides the totals.
    private static func others(_ total: Ledger.TotalToWrite) throws -> [(name: String, json: [UInt8])] {
        var id = JSONWriter()
        id.string(total.id.text)
        var members: [(name: String, json: [UInt8])] = [("_id", id.bytes)]
        for part in total.parts where part.contributors > 0 {
            for member in try JSONText(part.document).root.members {
                guard let name = member.name.string, !members.contains(where: { $0.name.utf8.elementsEqual(name.utf8) })
                else {
                    continue
                }
                members.append((name, Array(member.value.bytes)))
            }
        }
        return members
    }

    private static func object(
        _ members: [(name: String, json: [UInt8])], _ totals: [(name: String, amount: DecimalAmount)]
    ) throws -> JSONText {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, json) in members where !totals.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
                writer.member(name, raw: json)
            }
            for (name, amount) in totals { writer.member(name, raw: amount.description.utf8) }
        }
        return try JSONText(writer.bytes)
    }

    // MARK: - Afterwards

    private func settle(_ totals: [Ledger.TotalToWrite], _ result: TargetResult) async throws {
        var written: [(id: DocumentID, version: Int)] = []
        var refused: [(id: DocumentID, version: Int)] = []
        var deadLetters: [DeadLetter] = []
        for (index, total) in totals.enumerated() where result.postponed[index] == nil {
            guard let failure = result.failures[index] else {
                written.append((total.id, total.version))
                continue
            }
            refused.append((total.id, total.version))
            deadLetters.append(
                DeadLetter(
                    sequence: nil, id: total.id, revision: nil,
                    rule: total.parts.first.flatMap { counts.name(of: $0.rule) },
                    reason: failure.reason))
        }
        try await intake.deadLetter(deadLetters)
        try await ledger.noteTotals(written: written, refused: refused)
        try await dropDeadLetters(of: zip(totals.indices, totals).filter { result.failures[$0.0] == nil }.map(\.1))
    }

    /// Drops the dead letters of earlier refusals.
    private func dropDeadLetters(of totals: [Ledger.TotalToWrite]) async throws {
        let suspects = totals.filter { deadLettered.mayContain($0.id) }
        guard !suspects.isEmpty else { return }
        _ = try await ledger.dropDeadLetters(
            of: suspects.map { total in
                Ledger.ResolvedDocument(
                    id: total.id, rules: Set(total.parts.compactMap { counts.name(of: $0.rule) }), failedRules: [],
                    highestDeadLetterNumber: .max)
            })
    }

    private func log(_ written: [WrittenTarget]) {
        settings.observe(written)
        guard logger.logLevel <= .debug else { return }
        for other in written {
            logger.debug(
                "wrote totals", metadata: [LogKey.id: "\(other.place.id)", LogKey.revision: "\(other.revision)"])
        }
    }

    /// A run with an end does not wait until the feed returns its writes: it decides them itself.
    ///
    /// - Returns: Whether there is anything to decide.
    private func decide(_ written: [WrittenTarget]) async throws -> Bool {
        guard mode.endsOnceSettled else { return false }
        counts.noteDecided(written)
        let candidates = written.filter(\.rulesMayFire)
            .map { Candidate(unread: $0.place.id, expectedBytes: $0.byteCount) }
        try await intake.submit(candidates, deadLettered.newest)
        return !candidates.isEmpty
    }
}
