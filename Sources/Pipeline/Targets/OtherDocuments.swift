internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes the other documents that rules want, before the changed documents themselves.
///
/// Each is read first and written only if it needs a change, so repeating it after a crash does no harm. Then the
/// documents that led to it are checked: if one has changed since it was decided, its outdated decision must not
/// overwrite what its newer content led to. The write carries the revision that was read *before* that check, so a
/// change in between causes a conflict.
struct OtherDocuments {
    let ledger: Ledger
    let progress: RunProgress
    let limits: RequestLimits
    /// One sender for the followed keyspace (nil), and one for each other keyspace that rules name.
    var senders: [String?: BulkSender]
    /// Shared by all writers, so that those of one run don't cause each other conflicts.
    let locks: KeyedLock<DocumentPlace>
    let busy: BusyDocuments
    let logger: Logger

    /// Writes the wanted documents.
    ///
    /// - Parameter triggers: One for each plan.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`. Some documents may be written then.
    mutating func write(_ orders: [PutOrder], triggers: [PutTrigger]) async throws -> Result {
        var result = Result()
        var waiting = PutTarget.targets(of: orders)
        while !waiting.isEmpty {
            var again: [PutTarget] = []
            for (keyspace, targets) in Dictionary(grouping: waiting, by: \.place.keyspace) {
                for group in targets.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
                    again += try await writeLocked(Array(group), in: keyspace, triggers, &result)
                }
            }
            waiting = result.withoutEnded(again)
        }
        // A trigger that is written itself gets a conflict if it has changed. The others are checked here.
        let unwritten = result.plansWithWrites.subtracting(result.ended).filter { !triggers[$0].isWritten }
        try await noteOutdated(among: unwritten, triggers, &result)
        return result
    }

    /// The plans that would change another document, given the documents as they are now. Writes nothing.
    ///
    /// - Parameter previewed: What a dry run would have written before.
    mutating func wanted(_ orders: [PutOrder], after previewed: PreviewedPuts) async throws -> Set<Int> {
        let lookups = try await lookUp(orders)
        return orders.reduce(into: []) { plans, order in
            let current = previewed.current(order.place, lookups[order.place])
            // An impossible one must be reported.
            do { if try PutTarget.write(order.effect, over: current) != nil { plans.insert(order.plan) } } catch {
                plans.insert(order.plan)
            }
        }
    }

    private mutating func writeLocked(
        _ targets: [PutTarget], in keyspace: String?, _ triggers: [PutTrigger], _ result: inout Result
    ) async throws -> [PutTarget] {
        var held = Set(targets.map(\.place))
        await locks.lock(held)
        let again: [PutTarget]
        do { again = try await writeOnce(targets, in: keyspace, triggers, &held, &result) } catch {
            await locks.unlock(held)
            throw error
        }
        await locks.unlock(held)
        return again
    }

    /// Unlocks the documents that are settled, for other writers.
    static func unlock(
        _ places: Set<DocumentPlace>, _ held: inout Set<DocumentPlace>, _ locks: KeyedLock<DocumentPlace>
    ) async {
        held.subtract(places)
        await locks.unlock(places)
    }

    private struct Write: Sendable {
        var target: PutTarget
        let need: PutTarget.Need
        let document: JSONText

        var sent: BulkDocument { BulkDocument(id: target.place.id, segments: [document.bytes]) }
    }

    /// - Returns: What must be read again, after a conflict or because orders remain.
    private mutating func writeOnce(
        _ targets: [PutTarget], in keyspace: String?, _ triggers: [PutTrigger], _ held: inout Set<DocumentPlace>,
        _ result: inout Result
    ) async throws -> [PutTarget] {
        var targets = result.withoutEnded(targets)
        let lookups = try await lookUpSome(targets.map(\.place.id), in: keyspace)
        var again = Array(targets.dropFirst(lookups.count))
        targets.removeLast(again.count)
        try await noteOutdated(among: Self.needed(targets, lookups), triggers, &result)
        var writes: [Write] = []
        var made: [(write: Write, revision: RevisionID)] = []
        for (position, lookup) in zip(targets.indices, lookups) {
            targets[position].note(lookup)
            if let (need, revision) = targets[position].takeMade(lookup), let document = need.document {
                made.append((Write(target: targets[position], need: need, document: document), revision))
            }
            targets[position].remove(plans: result.ended)
            let need = targets[position].need(lookup)
            result.failures.merge(need.failures) { first, _ in first }
            guard let document = need.document else { continue }
            writes.append(Write(target: targets[position], need: need, document: document))
        }
        try await noteWritten(made, in: keyspace, &result)
        await progress.count { [count = made.count] in $0.written += count }
        writes = try await withoutBusy(writes, &result)
        let locks = locks
        await Self.unlock(held.subtracting(writes.map(\.target.place)), &held, locks)
        for request in limits.requests(writes.map(\.sent)) {
            var answers: [(write: Write, outcome: BulkOutcome)] = []
            try await senders[keyspace]?.send(request) { answered, outcomes in
                answers += zip(writes[answered], outcomes).map { ($0, $1) }
                await Self.unlock(Set(writes[answered].map(\.target.place)), &held, locks)
            }
            again += try await readAnswers(answers, in: keyspace, &result)
        }
        return again
    }

    /// The wanted documents as they are now.
    mutating func lookUp(_ orders: [PutOrder]) async throws -> [DocumentPlace: DocumentLookup] {
        var lookups: [DocumentPlace: DocumentLookup] = [:]
        for (keyspace, targets) in Dictionary(grouping: PutTarget.targets(of: orders), by: \.place.keyspace) {
            for group in targets.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
                let found = try await lookUp(group.map(\.place.id), in: keyspace)
                for (target, lookup) in zip(group, found) { lookups[target.place] = lookup }
            }
        }
        return lookups
    }

    private mutating func lookUp(
        _ ids: [DocumentID], in keyspace: String?, includesBodies: Bool = true
    ) async throws -> [DocumentLookup] {
        guard !ids.isEmpty else { return [] }
        guard let lookups = try await senders[keyspace]?.reader.read(ids[...], includesBodies: includesBodies) else {
            throw Self.noKeyspace(keyspace)
        }
        return lookups
    }

    /// The first of the documents: as many as are not too large together, but at least one.
    mutating func lookUpSome(_ ids: [DocumentID], in keyspace: String?) async throws -> [DocumentLookup] {
        guard !ids.isEmpty else { return [] }
        guard let lookups = try await senders[keyspace]?.reader.readSome(ids[...], limit: limits.bytesRead) else {
            throw Self.noKeyspace(keyspace)
        }
        return lookups
    }

    private static func noKeyspace(_ name: String?) -> RunError {
        RunError(.badConfiguration, "no keyspace '\(name ?? "")'")
    }

    /// The plans for which something would be written.
    private static func needed(_ targets: [PutTarget], _ lookups: [DocumentLookup]) -> Set<Int> {
        zip(targets, lookups).reduce(into: []) { plans, target in
            plans.formUnion(target.0.need(target.1).orders.map(\.plan))
        }
    }

    /// Finds the plans whose documents have changed since the decision.
    mutating func noteOutdated(
        among plans: Set<Int>, _ triggers: [PutTrigger], _ result: inout Result
    ) async throws {
        let checked = plans.filter { !triggers[$0].willBeDecidedAgain }
        for group in checked.sorted().grouped(count: limits.documents, bytes: .max, size: { _ in 1 }) {
            let lookups = try await lookUp(group.map { triggers[$0].id }, in: nil, includesBodies: false)
            for (plan, lookup) in zip(group, lookups) where triggers[plan].isOutdated(lookup) {
                result.outdated.insert(plan)
            }
        }
    }

    private func withoutBusy(_ writes: [Write], _ result: inout Result) async throws -> [Write] {
        let due = await busy.due(writes.map(\.target.place))
        guard !due.isEmpty else { return writes }
        await busy.log(writes.map(\.target.place).filter { due[$0] != nil }, to: logger)
        return writes.filter { write in
            guard let due = due[write.target.place] else { return true }
            result.postpone(write.need.orders + write.need.rest, until: due)
            return false
        }
    }

    // MARK: - Answers

    private func readAnswers(
        _ answers: [(write: Write, outcome: BulkOutcome)], in keyspace: String?, _ result: inout Result
    ) async throws -> [PutTarget] {
        var again: [PutTarget] = []
        var written: [(write: Write, revision: RevisionID)] = []
        for (write, outcome) in answers {
            var target = write.target
            switch target.record(outcome, of: write.need, attemptLimit: limits.attempts) {
            case .written(let revision):
                written.append((write, revision))
            case .again: break
            case .failed(let reason): result.fail(write.need.orders, reason)
            case .postponed:
                result.postpone(write.need.orders + write.need.rest, until: .now + AttemptLimits.contestedWait)
                continue
            }
            again.append(target)
        }
        try await noteWritten(written, in: keyspace, &result)
        await count(answers)
        return again
    }

    private func noteWritten(
        _ written: [(write: Write, revision: RevisionID)], in keyspace: String?, _ result: inout Result
    ) async throws {
        guard !written.isEmpty else { return }
        for order in written.lazy.flatMap(\.write.need.orders) { result.plansWithWrites.insert(order.plan) }
        CrashPoint.othersWritten.pass()
        if keyspace == nil { try await remember(written) }
        result.documents += written.map { write, revision in
            Written(
                place: write.target.place, revision: revision, document: write.document, rules: write.need.lastRules)
        }
        CrashPoint.othersRemembered.pass()
        await busy.noteWrites(written.map(\.write.target.place))
    }

    /// Records the rule chains. The feed of this keyspace will bring the documents, which are decided like any change.
    private func remember(_ written: [(write: Write, revision: RevisionID)]) async throws {
        let caused = written.map { write, revision in
            Ledger.CausedRevision(id: write.target.place.id, revision: revision, chain: write.need.chain)
        }
        try await ledger.recordCausedRevisions(try await ledger.joined(caused, over: written.map(\.write.need.earlier)))
    }

    private func count(_ answers: [(write: Write, outcome: BulkOutcome)]) async {
        var written = 0
        var conflicts = 0
        var rejected = 0
        for (write, outcome) in answers {
            switch outcome {
            case .written: written += 1
            case .conflict: conflicts += 1
            case .rejected where write.need.orders.count == 1: rejected += 1
            default: continue
            }
        }
        await progress.count { [written, conflicts, rejected] counters in
            counters.written += written
            counters.conflicts += conflicts
            counters.rejected += rejected
        }
    }
}

extension OtherDocuments {
    /// Another document as it was written.
    struct Written: Sendable {
        let place: DocumentPlace
        let revision: RevisionID
        let document: JSONText
        /// The rules that wanted it, each once.
        let rules: [String]
        /// Whether it is a tombstone now.
        var isDeletion = false

        /// As the feed brings it, if it is a tombstone.
        var tombstone: [UInt8] {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("_id", string: place.id.text)
                writer.member("_rev", string: revision.text)
                writer.member("_deleted", bool: true)
            }
            return writer.bytes
        }
    }

    /// The result of all orders, by plan.
    struct Result {
        /// Why a plan can't have what it wants.
        var failures: [Int: PlanFailure] = [:]
        /// Plans whose documents have changed since: they are decided again.
        var outdated: Set<Int> = []
        /// Plans that wait for a busy document, and until when.
        var postponed: [Int: ContinuousClock.Instant] = [:]
        /// Plans for which something was written.
        var plansWithWrites: Set<Int> = []
        /// The documents that were written.
        var documents: [Written] = []

        /// Plans for which nothing more is done here.
        var ended: Set<Int> { outdated.union(failures.keys).union(postponed.keys) }

        mutating func fail(_ orders: [PutOrder], _ reason: String) {
            for order in orders { failures[order.plan] = order.failure(reason) }
        }

        /// A plan with several busy documents waits for the last of them.
        mutating func postpone(_ orders: [PutOrder], until due: ContinuousClock.Instant) {
            postpone(plans: orders.map(\.plan), until: due)
        }

        mutating func postpone(plans: [Int], until due: ContinuousClock.Instant) {
            for plan in plans { postponed[plan] = max(due, postponed[plan] ?? due) }
        }

        /// Adds the results of further orders.
        mutating func merge(_ other: Self) {
            failures.merge(other.failures) { first, _ in first }
            outdated.formUnion(other.outdated)
            postponed.merge(other.postponed) { max($0, $1) }
            plansWithWrites.formUnion(other.plansWithWrites)
            documents += other.documents
        }

        /// Without the orders of plans for which nothing more is done.
        func withoutEnded(_ targets: [PutTarget]) -> [PutTarget] {
            let ended = ended
            return targets.compactMap { target in
                var target = target
                target.remove(plans: ended)
                return target.orders.isEmpty ? nil : target
            }
        }
    }
}

/// Lets tasks work on the same keys one after the other, and on different keys concurrently.
///
/// A task locks all that it needs at once, so there is no deadlock. Tasks that want the same key get it in order.
actor KeyedLock<Key: Hashable & Sendable> {
    private var taken: Set<Key> = []
    private(set) var waiting: [(keys: Set<Key>, continuation: CheckedContinuation<Void, Never>)] = []

    /// Returns once nobody else holds any of these. Ignores cancellation: whoever holds them unlocks them soon.
    func lock(_ keys: Set<Key>) async {
        guard !isFree(keys) || waiting.contains(where: { !$0.keys.isDisjoint(with: keys) }) else {
            return taken.formUnion(keys)
        }
        await withCheckedContinuation { waiting.append((keys, $0)) }
    }

    func unlock(_ keys: Set<Key>) {
        taken.subtract(keys)
        var wanted: Set<Key> = []
        waiting.removeAll { waiter in
            defer { wanted.formUnion(waiter.keys) }
            guard isFree(waiter.keys), wanted.isDisjoint(with: waiter.keys) else { return false }
            taken.formUnion(waiter.keys)
            waiter.continuation.resume()
            return true
        }
    }

    private func isFree(_ keys: Set<Key>) -> Bool { taken.isDisjoint(with: keys) }
}
