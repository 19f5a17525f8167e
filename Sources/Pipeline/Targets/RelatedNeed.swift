internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// What a page of related documents needs, given the documents as they are now. Without I/O, but for what the actions
/// ask of jq.
struct RelatedNeeds {
    /// One document: what the orders so far have made of it.
    struct Need {
        var target: RelatedTarget
        /// As it is now; nil if it is not there.
        fileprivate(set) var before: JSONText?
        /// The decision of the last order that changed it, with the attachments of all.
        fileprivate(set) var decision: Decision?
        /// The orders that the write is for, as indexes in the batch.
        fileprivate(set) var orders: [Int] = []
        /// The orders for a later write.
        fileprivate(set) var rest: [Int] = []
        /// Documents that the actions `put`, each with the index of its order.
        fileprivate(set) var puts: [(order: Int, effect: PutEffect)] = []
        fileprivate var next = 0

        fileprivate var current: JSONText? { decision?.document ?? before }

        init(_ target: RelatedTarget) { self.target = target }

        /// Whether there is something to write. Orders may cancel each other out.
        var isWrite: Bool {
            guard let decision, let before else { return false }
            return decision.isDeletion || !decision.document.root.isEquivalent(to: before.root)
        }
    }

    let batch: RelatedBatch
    private(set) var needs: [Need]
    /// Why an order is impossible, by plan.
    private(set) var failures: [Int: String] = [:]
    /// Plans whose programs can't be run now.
    private(set) var undecided: Set<Int> = []
    /// The indexes in ``RelatedBatch/orders`` of those that failed, by plan.
    private(set) var failedOrders: [Int: Int] = [:]

    /// - Parameters:
    ///   - lookups: The documents as they are now, one for each target.
    ///   - ended: Plans for which nothing more is done.
    init(
        _ targets: [RelatedTarget], _ lookups: [DocumentLookup], _ batch: RelatedBatch, ended: Set<Int>
    ) async {
        self.batch = batch
        needs = targets.map { Need($0) }
        for (index, lookup) in zip(needs.indices, lookups) { note(lookup, of: index) }
        while true {
            var asked: [Int: [Int]] = [:]
            for index in needs.indices {
                if let order = nextOrder(of: index, ended) { asked[order, default: []].append(index) }
            }
            if asked.isEmpty { return }
            for (order, indexes) in asked.sorted(by: { $0.key < $1.key }) {
                let documents = indexes.compactMap { needs[$0].current }
                let decisions = await batch.deciders[order].decide(
                    on: documents, now: batch.now, stored: batch.stored)
                for (index, decision) in zip(indexes, decisions) { take(decision, of: order, on: index) }
            }
        }
    }

    private mutating func note(_ lookup: DocumentLookup, of index: Int) {
        let target = needs[index].target
        switch lookup {
        case .found(_, let document):
            do throws(JSONEditError) { needs[index].before = try document.withoutVersion() } catch {
                for order in target.orders { fail(order, target.id, error.description) }
            }
        case .refused(let reason):
            for order in target.orders { fail(order, target.id, "can't be read: \(reason)") }
        // Others have deleted it.
        case .deleted, .missing: break
        }
    }

    /// The next order for which the document must be decided; nil if there is none.
    private mutating func nextOrder(of index: Int, _ ended: Set<Int>) -> Int? {
        while needs[index].next < needs[index].target.orders.count {
            let order = needs[index].target.orders[needs[index].next]
            needs[index].next += 1
            let plan = batch.orders[order].plan
            guard let current = needs[index].current, needs[index].decision?.isDeletion != true,
                !ended.contains(plan), failures[plan] == nil
            else { continue }
            if needs[index].target.isOneByOne, !needs[index].orders.isEmpty {
                needs[index].rest.append(order)
                continue
            }
            do throws(DecisionError) {
                if try batch.deciders[order].matches(current.root) { return order }
            } catch {
                fail(order, needs[index].target.id, error.reason)
            }
        }
        return nil
    }

    private mutating func take(_ decision: Decision, of order: Int, on index: Int) {
        let id = needs[index].target.id
        if let error = decision.error {
            if error.isTemporary {
                undecided.insert(batch.orders[order].plan)
            } else {
                fail(order, id, error.reason)
            }
            return
        }
        needs[index].puts += decision.puts.map { (order, $0) }
        if let refusal = batch.orders[order].refusal, decision.isChanged || !decision.puts.isEmpty {
            let plan = batch.orders[order].plan
            (failures[plan], failedOrders[plan]) = (refusal, order)
            return
        }
        guard decision.isChanged else { return }
        needs[index].decision = decision.after(needs[index].decision)
        needs[index].orders.append(order)
    }

    private mutating func fail(_ order: Int, _ id: DocumentID, _ reason: String) {
        let plan = batch.orders[order].plan
        guard failures[plan] == nil else { return }
        (failures[plan], failedOrders[plan]) = (batch.orders[order].failure(id, reason), order)
    }

    /// The plans for which something would be written.
    var plans: Set<Int> {
        needs.reduce(into: []) { plans, need in
            if need.isWrite { plans.formUnion(need.orders.map { batch.orders[$0].plan }) }
            plans.formUnion(need.puts.map { batch.orders[$0.order].plan })
        }
    }
}

extension RelatedBatch {
    /// The chain of rules that led to a write.
    func chain(of orders: [Int]) -> RuleChain { .shortest(of: orders.map { self.orders[$0].chain }) }

    /// The rules that want a write, each once.
    func rules(of orders: [Int]) -> [String] {
        orders.reduce(into: []) { rules, order in
            if !rules.contains(self.orders[order].rule) { rules.append(self.orders[order].rule) }
        }
    }
}
