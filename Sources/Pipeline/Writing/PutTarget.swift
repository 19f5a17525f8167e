internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// One document that one decision wants.
struct PutOrder: Sendable {
    /// The decision, by its place among those that are settled together.
    let plan: Int
    let effect: PutEffect
    let place: DocumentPlace
    /// The rules that led to it, this one's included.
    let chain: RuleChain

    init(plan: Int, effect: PutEffect, home: Keyspace, chain: RuleChain) {
        self.plan = plan
        self.effect = effect
        self.chain = chain
        place = DocumentPlace(
            keyspace: effect.keyspace == home.pathSegment ? nil : effect.keyspace, id: DocumentID(effect.id))
    }
}

/// One other document, and all that decisions of one batch want of it: one write does it for all of them.
struct PutTarget: Sendable {
    let place: DocumentPlace
    private(set) var orders: [PutOrder]
    /// After a refusal: one at a time, so that the one that is refused is found.
    private(set) var isOneByOne = false
    /// Writes that were answered with neither yes nor no.
    var attempts = 0
    /// Conflicts, one after the other.
    var conflicts = 0
    /// Conflicts although the revision that was read is the one that was written on.
    private(set) var refusals = 0
    private var readRevision: RevisionID??

    init(_ order: PutOrder) {
        place = order.place
        orders = [order]
    }

    /// All orders by the documents that they want, in the order in which these are named first.
    static func targets(of orders: [PutOrder]) -> [PutTarget] {
        var targets: [PutTarget] = []
        var positions: [DocumentPlace: Int] = [:]
        for order in orders {
            if let position = positions[order.place] {
                targets[position].orders.append(order)
            } else {
                positions[order.place] = targets.count
                targets.append(PutTarget(order))
            }
        }
        return targets
    }

    var byteCount: Int { orders.reduce(0) { $0 + $1.effect.document.bytes.count } }

    mutating func remove(plans: Set<Int>) { orders.removeAll { plans.contains($0.plan) } }

    mutating func splitUp() { isOneByOne = true }

    /// The orders before these are done with: what comes on top of them is not written over again.
    mutating func goOn(with rest: [PutOrder]) { orders = rest }

    /// Takes note of the revision that the document has now.
    mutating func note(_ lookup: DocumentLookup) {
        var revision: RevisionID?
        if case .found(let found, _) = lookup { revision = found }
        if let readRevision, readRevision == revision, conflicts > 0 { refusals += 1 } else { refusals = 0 }
        readRevision = .some(revision)
    }

    // MARK: - What is to be written

    /// What there is to do, given the document as it is now.
    struct Need {
        /// Nil: it is as it should be.
        var document: JSONText?
        /// The orders that this write is for.
        var orders: [PutOrder] = []
        /// For each plan whose order is impossible, why.
        var failures: [Int: String] = [:]
        /// The orders that are left for a later write.
        var rest: [PutOrder] = []

        /// The longest chain of rules that led to it.
        var chain: RuleChain {
            orders.map(\.chain).max { $0.rules.count < $1.rules.count } ?? RuleChain()
        }
    }

    func need(_ lookup: DocumentLookup) -> Need {
        var need = Need()
        var current = lookup
        for order in orders {
            if isOneByOne, need.document != nil {
                need.rest.append(order)
                continue
            }
            do throws(PutImpossible) {
                guard let document = try Self.write(order.effect, over: current) else { continue }
                need.document = document
                need.orders.append(order)
                current = .found(RevisionID(""), document)
            } catch {
                need.failures[order.plan] = Self.failure(order, error.reason)
            }
        }
        // What one wants and another takes back may leave it as it is.
        if case .found(_, let present) = lookup, let present = try? present.withoutVersion(),
            need.document?.root.isEquivalent(to: present.root) == true
        {
            (need.document, need.orders) = (nil, [])
        }
        return need
    }

    struct PutImpossible: Error { let reason: String }

    /// What to write; nil if nothing is to be changed.
    static func write(_ effect: PutEffect, over lookup: DocumentLookup) throws(PutImpossible) -> JSONText? {
        if case .refused(let reason) = lookup { throw PutImpossible(reason: "can't be read: \(reason)") }
        do throws(JSONEditFault) {
            guard case .found(_, let current) = lookup else { return try effect.newDocument }
            return try effect.write(over: current.withoutVersion())
        } catch {
            throw PutImpossible(reason: error.description)
        }
    }

    static func failure(_ order: PutOrder, _ reason: String) -> String {
        "the other document '\(order.effect.id)': \(reason)"
    }
}
