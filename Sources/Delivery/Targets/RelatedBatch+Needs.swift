internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// What a page of related documents needs: each is matched again and decided, one order after the other.
extension RelatedBatch {
    func needs(_ targets: [Target], _ lookups: [DocumentLookup], ended: Set<Int>) async -> TargetNeeds {
        var page = RelatedPage(targets, lookups, self, ended: ended)
        await page.decide()
        return page.needs
    }
}

private struct RelatedPage {
    private let batch: RelatedBatch
    private let ended: Set<Int>
    private(set) var needs: TargetNeeds
    /// For each target, how many of its orders were processed.
    private var checkedCount: [Int]

    init(_ targets: [Target], _ lookups: [DocumentLookup], _ batch: RelatedBatch, ended: Set<Int>) {
        self.batch = batch
        self.ended = ended
        needs = TargetNeeds(targets)
        checkedCount = targets.map { _ in 0 }
        for (index, lookup) in zip(targets.indices, lookups) { note(lookup, of: index) }
    }

    private mutating func note(_ lookup: DocumentLookup, of index: Int) {
        let target = needs.needs[index].target
        switch lookup {
        case .found(_, let document):
            do throws(JSONEditError) { needs.needs[index].before = try document.withoutVersion() } catch {
                for order in target.orders { fail(order, target.place.id, error.description) }
            }
        case .refused(let reason):
            for order in target.orders { fail(order, target.place.id, "can't be read: \(reason)") }
        // Another client has deleted it.
        case .deleted, .missing: break
        }
    }

    mutating func decide() async {
        while true {
            var asked: [Int: [Int]] = [:]
            for index in needs.needs.indices {
                if let order = nextOrder(of: index) { asked[order, default: []].append(index) }
            }
            if asked.isEmpty { return }
            for (order, indexes) in asked.sorted(by: { $0.key < $1.key }) {
                let decidable = withoutCrowded(indexes)
                let isLarge = decidable.map { needs.needs[$0].target.isLarge }
                let decisions = await batch.deciders[order].decide(
                    on: decidable.compactMap(current), now: batch.now, stored: batch.stored,
                    effects: EffectMemory(limit: batch.effectLimit) { isLarge[$0] })
                for (index, decision) in zip(decidable, decisions) { take(decision, of: order, on: index) }
            }
        }
    }

    /// Defers targets while what was computed for others takes much memory. At least one target is never deferred here.
    private mutating func withoutCrowded(_ indexes: [Int]) -> [Int] {
        guard needs.putBytes > batch.effectLimit else { return indexes }
        let first = needs.needs.firstIndex { !$0.isDeferred }
        for index in indexes where index != first { needs.needs[index].defer(isLarge: false) }
        return indexes.filter { $0 == first }
    }

    /// A document after the orders so far.
    private func current(_ index: Int) -> JSONText? {
        needs.needs[index].content?.document ?? needs.needs[index].before
    }

    /// The next order for which the document must be decided; nil if there is none.
    private mutating func nextOrder(of index: Int) -> Int? {
        guard !needs.needs[index].isDeferred else { return nil }
        let target = needs.needs[index].target
        while checkedCount[index] < target.orders.count {
            let order = target.orders[checkedCount[index]]
            checkedCount[index] += 1
            let plan = batch.orders[order].plan
            guard let current = current(index), needs.needs[index].content?.isDeletion != true, !ended.contains(plan),
                needs.failures[plan] == nil
            else { continue }
            if target.isSplit, !needs.needs[index].orders.isEmpty {
                needs.needs[index].rest.append(order)
                continue
            }
            do throws(DecisionError) {
                if try batch.deciders[order].matches(current.root) { return order }
            } catch {
                fail(order, target.place.id, error.reason)
            }
        }
        return nil
    }

    private mutating func take(_ decision: Decision, of order: Int, on index: Int) {
        if let deferral = decision.deferral { return needs.needs[index].defer(isLarge: deferral == .large) }
        if let error = decision.error {
            if error.isTemporary {
                needs.undecided.insert(batch.orders[order].plan)
            } else {
                fail(order, needs.needs[index].target.place.id, error.reason)
            }
            return
        }
        needs.needs[index].puts += decision.puts.map { (order, $0) }
        if let refusal = batch.orders[order].refusal, decision.isChanged || !decision.puts.isEmpty {
            return needs.fail(
                batch.orders[order].plan, PlanFailure(rule: batch.orders[order].rule, reason: refusal))
        }
        guard decision.isChanged else { return }
        var earlier: Decision?
        if case .decision(let decision)? = needs.needs[index].content { earlier = decision }
        needs.needs[index].content = .decision(decision.after(earlier))
        needs.needs[index].orders.append(order)
    }

    private mutating func fail(_ order: Int, _ id: DocumentID, _ reason: String) {
        needs.fail(batch.orders[order].plan, batch.orders[order].failure(id, reason))
    }
}
