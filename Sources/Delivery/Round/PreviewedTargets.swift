internal import GatewayClient

/// The documents that the decisions of a dry run would `put`, as they are now. They are read ahead in portions.
struct PreviewedTargets {
    /// The documents of each plan.
    private let places: [[DocumentAddress]]
    /// The last plan that uses each document.
    private let lastUses: [DocumentAddress: Int]
    /// The documents of the current plan, and as many of the next ones as arrived with them.
    private(set) var lookups: [DocumentAddress: DocumentLookup] = [:]

    /// - Parameter orders: Of all plans of a round.
    init(_ orders: [PutOrder], plans: Int) {
        var places = Array(repeating: [DocumentAddress](), count: plans)
        var lastUses: [DocumentAddress: Int] = [:]
        for order in orders {
            places[order.plan].append(order.place)
            lastUses[order.place] = order.plan
        }
        (self.places, self.lastUses) = (places, lastUses)
    }

    /// Goes on to the next plan, and reads its documents unless they have arrived before. Drops those that no plan
    /// uses any more.
    mutating func advance(to plan: Int, _ targets: inout TargetWriter) async throws {
        lookups = lookups.filter { lastUses[$0.key, default: 0] >= plan }
        while let first = places[plan].first(where: { lookups[$0] == nil }) {
            var ids: [DocumentID] = []
            var seen: Set<DocumentAddress> = []
            for place in places[plan...].joined() where ids.count < targets.limits.documents {
                guard place.keyspace == first.keyspace, lookups[place] == nil, seen.insert(place).inserted else {
                    continue
                }
                ids.append(place.id)
            }
            for (id, lookup) in zip(ids, try await targets.read(ids, in: first.keyspace).lookups) {
                lookups[DocumentAddress(keyspace: first.keyspace, id: id)] = lookup
            }
        }
    }
}
