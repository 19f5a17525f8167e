internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Writes the other documents that rules want, before the changed ones are written.
///
/// Each is looked at first: what is there already, as it should be, is not written again. So doing it twice, as after a
/// crash, does no more than doing it once.
struct OtherDocuments {
    /// One document that one decision wants.
    struct Order: Sendable {
        /// The decision, by its place among those that are settled together.
        let plan: Int
        let effect: PutEffect
        /// Nil: the one that is followed.
        let keyspace: String?
        fileprivate var attempts = 0

        fileprivate var byteCount: Int { effect.document.bytes.count }

        init(plan: Int, effect: PutEffect, home: Keyspace) {
            self.plan = plan
            self.effect = effect
            keyspace = effect.keyspace == home.pathSegment ? nil : effect.keyspace
        }
    }

    struct Place: Hashable, Sendable {
        private let keyspace: String?
        private let id: DocumentID

        fileprivate init(_ order: Order) {
            keyspace = order.keyspace
            id = DocumentID(order.effect.id)
        }
    }

    let ledger: Ledger
    let progress: RunProgress
    let limits: BulkWriter.Limits
    /// One for the followed keyspace (nil) and one for each other that rules name.
    var senders: [String?: BulkSender]
    /// Of all writers: one that is beaten by another of the same run would have to begin anew.
    let turns: Turns<Place>

    /// Writes what is wanted, in order where several want the same document.
    ///
    /// - Returns: For each plan that does not have what it wants, why.
    /// - Throws: ``RunFailure``, ``StateError``, `CancellationError`: some may be written then.
    mutating func settle(_ orders: [Order]) async throws -> [Int: String] {
        var failures: [Int: String] = [:]
        var waiting = orders
        while !waiting.isEmpty {
            var again: [Order] = []
            for (keyspace, orders) in Self.takeRound(of: &waiting) {
                for group in orders.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
                    again += try await settleInTurn(group, in: keyspace, &failures)
                }
            }
            waiting = again + waiting
        }
        return failures
    }

    /// The orders that would change something as things are now. Writes nothing.
    mutating func wanted(_ orders: [Order]) async throws -> [Order] {
        var wanted: [Order] = []
        for (keyspace, orders) in Dictionary(grouping: orders, by: \.keyspace) {
            for group in orders.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
                for (order, lookup) in zip(group, try await lookUp(group, in: keyspace)) {
                    if case .nothing = Self.need(order.effect, lookup) { continue }
                    wanted.append(order)
                }
            }
        }
        return wanted
    }

    /// The first order of each document, by keyspace.
    private static func takeRound(of waiting: inout [Order]) -> [String?: [Order]] {
        var places: Set<Place> = []
        var round: [String?: [Order]] = [:]
        var rest: [Order] = []
        for order in waiting {
            if places.insert(Place(order)).inserted {
                round[order.keyspace, default: []].append(order)
            } else {
                rest.append(order)
            }
        }
        waiting = rest
        return round
    }

    private enum Need {
        case nothing
        case write(JSONText)
        case impossible(String)
    }

    private static func need(_ effect: PutEffect, _ lookup: DocumentLookup) -> Need {
        do throws(JSONEditFault) {
            switch lookup {
            case .found(_, let current):
                return try effect.write(over: current.withoutVersion()).map { .write($0) } ?? .nothing
            case .deleted, .missing: return .write(try effect.newDocument)
            case .refused(let reason): return .impossible("can't be read: \(reason)")
            }
        } catch {
            return .impossible(error.description)
        }
    }

    private mutating func settleInTurn(
        _ orders: ArraySlice<Order>, in keyspace: String?, _ failures: inout [Int: String]
    ) async throws -> [Order] {
        var held = Set(orders.map { Place($0) })
        await turns.take(held)
        let again: [Order]
        do { again = try await settle(orders, in: keyspace, &held, &failures) } catch {
            await turns.giveBack(held)
            throw error
        }
        await turns.giveBack(held)
        return again
    }

    /// Others need not wait for those that are done with.
    private static func letGo(_ places: Set<Place>, _ held: inout Set<Place>, _ turns: Turns<Place>) async {
        held.subtract(places)
        await turns.giveBack(places)
    }

    /// Returns those that met another revision and are to be looked at again.
    private mutating func settle(
        _ orders: ArraySlice<Order>, in keyspace: String?, _ held: inout Set<Place>, _ failures: inout [Int: String]
    ) async throws -> [Order] {
        var writes: [PlannedWrite<Order>] = []
        for (order, lookup) in zip(orders, try await lookUp(orders, in: keyspace)) {
            switch Self.need(order.effect, lookup) {
            case .nothing: break
            case .write(let document):
                writes.append(
                    PlannedWrite(
                        subject: order,
                        document: BulkDocument(id: DocumentID(order.effect.id), segments: [document.bytes])))
            case .impossible(let reason): failures[order.plan] = Self.failure(order, reason)
            }
        }
        let turns = turns
        await Self.letGo(held.subtracting(writes.map { Place($0.subject) }), &held, turns)
        var outcomes: [(order: Order, outcome: BulkOutcome)] = []
        for request in PlannedWrite.requests(writes, limits: limits) {
            try await senders[keyspace]?.send(request) { writes, answers in
                outcomes += zip(writes, answers).map { ($0.subject, $1) }
                await Self.letGo(Set(writes.map { Place($0.subject) }), &held, turns)
            }
        }
        return try await book(outcomes, in: keyspace, &failures)
    }

    private func book(
        _ outcomes: [(order: Order, outcome: BulkOutcome)], in keyspace: String?, _ failures: inout [Int: String]
    ) async throws -> [Order] {
        var again: [Order] = []
        var written: [(id: DocumentID, revision: RevisionID)] = []
        var conflicts = 0
        var rejected = 0
        for (order, outcome) in outcomes {
            var order = order
            order.attempts += 1
            switch outcome {
            case .written(let revision): written.append((DocumentID(order.effect.id), revision))
            case .rejected:
                rejected += 1
                failures[order.plan] = Self.failure(order, outcome.words)
            case .conflict, .undecided, .unmentioned, .failed:
                if outcome == .conflict { conflicts += 1 }
                if order.attempts < limits.attempts {
                    again.append(order)
                } else {
                    failures[order.plan] = Self.failure(order, "not accepted \(order.attempts) times: \(outcome.words)")
                }
            }
        }
        CrashPoint.othersWritten.pass()
        // The feed of this keyspace will show them: the rules have had their say.
        if keyspace == nil { try await ledger.recordOwnRevisions(written, areCounted: false) }
        CrashPoint.othersRemembered.pass()
        await progress.count { [conflicts, rejected, written] counters in
            counters.written += written.count
            counters.conflicts += conflicts
            counters.rejected += rejected
        }
        return again
    }

    private mutating func lookUp(_ orders: ArraySlice<Order>, in keyspace: String?) async throws -> [DocumentLookup] {
        let ids = orders.map { DocumentID($0.effect.id) }
        guard let lookups = try await senders[keyspace]?.lookUp(ids[...]) else {
            throw RunFailure(.badConfiguration, "no keyspace '\(keyspace ?? "")'")
        }
        return lookups
    }

    private static func failure(_ order: Order, _ reason: String) -> String {
        "the other document '\(order.effect.id)': \(reason)"
    }
}
