internal import DocumentFlow
internal import GatewayClient

// What the gateway has of the other documents.
extension OtherDocuments {
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

    mutating func lookUp(
        _ ids: [DocumentID], in keyspace: String?, includesBodies: Bool = true
    ) async throws -> [DocumentLookup] {
        guard !ids.isEmpty else { return [] }
        guard let lookups = try await senders[keyspace]?.reader.read(ids[...], includesBodies: includesBodies) else {
            throw RunError(.badConfiguration, "no keyspace '\(keyspace ?? "")'")
        }
        return lookups
    }
}
