/// Lets tasks work on the same things one after the other, and on different things concurrently.
///
/// A task locks all that it needs at once, so there is no deadlock. Tasks that want the same thing get it in order.
actor KeyedLock<Thing: Hashable & Sendable> {
    private var taken: Set<Thing> = []
    private var waiting: [(things: Set<Thing>, continuation: CheckedContinuation<Void, Never>)] = []

    /// Returns once nobody else holds any of these. Ignores cancellation: whoever holds them unlocks them soon.
    func lock(_ things: Set<Thing>) async {
        guard !isFree(things) || waiting.contains(where: { !$0.things.isDisjoint(with: things) }) else {
            return taken.formUnion(things)
        }
        await withCheckedContinuation { waiting.append((things, $0)) }
    }

    func unlock(_ things: Set<Thing>) {
        taken.subtract(things)
        var wanted: Set<Thing> = []
        waiting.removeAll { waiter in
            defer { wanted.formUnion(waiter.things) }
            guard isFree(waiter.things), wanted.isDisjoint(with: waiter.things) else { return false }
            taken.formUnion(waiter.things)
            waiter.continuation.resume()
            return true
        }
    }

    var waitingCount: Int { waiting.count }

    private func isFree(_ things: Set<Thing>) -> Bool { taken.isDisjoint(with: things) }
}
