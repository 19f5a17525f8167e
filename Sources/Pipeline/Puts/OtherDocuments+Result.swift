internal import GatewayClient
internal import LosslessJSON

extension OtherDocuments {
    /// Another document as it was written.
    struct Written: Sendable {
        let place: DocumentPlace
        let revision: RevisionID
        let document: JSONText
        /// The rules that wanted it, each once.
        let rules: [String]
    }

    /// The result of all orders, by plan.
    struct Result {
        /// Why a plan can't have what it wants.
        var failures: [Int: String] = [:]
        /// Plans whose documents have changed since: they are decided again.
        var moved: Set<Int> = []
        /// Plans that wait for a busy document, and until when.
        var postponed: [Int: ContinuousClock.Instant] = [:]
        /// Plans for which something was written.
        var wrote: Set<Int> = []
        var written: [Written] = []

        /// Plans for which nothing more is done here.
        var ended: Set<Int> { moved.union(failures.keys).union(postponed.keys) }

        mutating func fail(_ orders: [PutOrder], _ reason: String) {
            for order in orders { failures[order.plan] = PutTarget.failure(order, reason) }
        }

        /// A plan with several busy documents waits for the last of them.
        mutating func postpone(_ orders: [PutOrder], until due: ContinuousClock.Instant) {
            for order in orders { postponed[order.plan] = max(due, postponed[order.plan] ?? due) }
        }

        /// Without the orders of plans for which nothing more is done.
        func open(_ targets: [PutTarget]) -> [PutTarget] {
            let ended = ended
            return targets.compactMap { target in
                var target = target
                target.remove(plans: ended)
                return target.orders.isEmpty ? nil : target
            }
        }
    }
}
