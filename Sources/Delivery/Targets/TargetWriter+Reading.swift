internal import DocumentFlow
internal import GatewayClient

/// The current content of documents that may be written. It has room in the memory budget as long as this exists.
struct CurrentTargets: Sendable {
    /// One for each document, in order.
    let lookups: [DocumentLookup]
    /// Nil if nothing was read.
    fileprivate let reading: MemoryBudget.Reading?
}

// Targets are read in portions, as the memory budget allows: their sizes are unknown, and there may be very many.
extension TargetWriter {
    /// Reads the first documents: a portion of the memory budget, but at least one. Waits for room while another task
    /// holds targets. Don't call it while you hold documents of an earlier call.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    mutating func read(_ ids: [DocumentID], in keyspace: String?) async throws -> CurrentTargets {
        guard !ids.isEmpty else { return CurrentTargets(lookups: [], reading: nil) }
        guard var reader = senders[keyspace]?.reader else { throw Self.noKeyspace(keyspace) }
        defer { senders[keyspace]?.reader = reader }
        while true {
            let portion = await budget.portion(of: .targets, isSingle: reader.most == 1)
            let reading = try await budget.beginReading(portion)
            let lookups: [DocumentLookup]?
            do { lookups = try await reader.readBatch(ids[...], limit: portion.limit) } catch {
                await budget.end(portion, bytes: 0, of: reading)
                throw error
            }
            let bytes = lookups?.reduce(0) { $0 + $1.byteCount } ?? 0
            await budget.end(portion, bytes: Content.copies * bytes, of: reading)
            if let lookups { return CurrentTargets(lookups: lookups, reading: reading) }
        }
    }

    /// Reads the current content of each of the batch's documents.
    mutating func survey(_ batch: PutBatch, _ take: (Target, DocumentLookup) -> Void) async throws {
        for (keyspace, group) in groups(batch.targets, batch) {
            var left = group[...]
            while !left.isEmpty {
                let read = try await read(left.map(\.place.id), in: keyspace)
                defer { withExtendedLifetime(read) {} }
                for (target, lookup) in zip(left, read.lookups) { take(target, lookup) }
                left.removeFirst(read.lookups.count)
            }
        }
    }

    /// Targets grouped by how they are read and written.
    func groups(_ targets: [Target], _ batch: PutBatch) -> [(keyspace: String?, targets: [Target])] {
        Dictionary(grouping: targets, by: \.place.keyspace).flatMap { keyspace, targets in
            targets.grouped(count: limits.documents, bytes: limits.bytes, size: batch.byteCount)
                .map { (keyspace, Array($0)) }
        }
    }

    private static func noKeyspace(_ name: String?) -> RunError {
        RunError(.badConfiguration, "no keyspace '\(name ?? "")'")
    }

    /// Finds the plans whose documents have changed since the decision.
    mutating func noteOutdated(
        among plans: Set<Int>, _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws {
        let checked = plans.filter { !triggers[$0].willBeDecidedAgain }
        for group in checked.sorted().grouped(count: limits.documents, bytes: .max, size: { _ in 1 }) {
            let ids = group.map { triggers[$0].id }
            guard let lookups = try await senders[nil]?.reader.read(ids[...], includesBodies: false) else { continue }
            for (plan, lookup) in zip(group, lookups) where triggers[plan].isOutdated(lookup) {
                result.outdated.insert(plan)
            }
        }
    }

    /// A trigger that is written itself gets a conflict if it has changed. The other triggers are checked here, after
    /// the writes.
    mutating func noteOutdatedUnwritten(_ triggers: [Trigger], _ result: inout TargetResult) async throws {
        let unwritten = result.plansWithWrites.subtracting(result.ended).filter { !triggers[$0].isWritten }
        try await noteOutdated(among: unwritten, triggers, &result)
    }
}
