internal import BotState
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Another document that one decision writes.
struct PutOrder: TargetOrder {
    let plan: Int
    let effect: PutEffect
    /// The rule that writes it; nil for a total, which several rules may write.
    let rule: String?
    let place: DocumentAddress
    let chain: RuleChain

    init(plan: Int, effect: PutEffect, rule: String?, home: KeyspaceName, chain: RuleChain) {
        self.plan = plan
        self.effect = effect
        self.rule = rule
        self.chain = chain
        place = DocumentAddress(
            keyspace: effect.keyspace == home.pathSegment ? nil : effect.keyspace, id: DocumentID(effect.id))
    }

    func failure(_ id: DocumentID, _ reason: String) -> PlanFailure { failure(reason) }

    func failure(_ reason: String) -> PlanFailure {
        let source = rule.map { ", put by rule '\($0)'" } ?? ""
        return PlanFailure(rule: rule, reason: "document '\(effect.id)'\(source): \(reason)")
    }
}

/// The documents that the decisions of a round `put`.
struct PutBatch: TargetBatch {
    let orders: [PutOrder]
    let crashPoints = (written: CrashPoint.othersWritten, remembered: CrashPoint.othersRemembered)

    init(_ orders: [PutOrder]) { self.orders = orders }

    /// The orders, grouped by document, in the order of first mention.
    var targets: [Target] {
        var targets: [Target] = []
        var positions: [DocumentAddress: Int] = [:]
        for (index, order) in orders.enumerated() {
            if let position = positions[order.place] {
                targets[position].orders.append(index)
            } else {
                positions[order.place] = targets.count
                targets.append(Target(order.place, index))
            }
        }
        return targets
    }

    var byteCount: Int { orders.reduce(0) { $0 + $1.effect.document.bytes.count } }

    func byteCount(of target: Target) -> Int {
        target.orders.reduce(0) { $0 + orders[$1].effect.document.bytes.count }
    }

    /// Applies the orders for each document one after the other.
    func needs(_ targets: [Target], _ lookups: [DocumentLookup], ended: Set<Int>) -> TargetNeeds {
        var needs = TargetNeeds(targets)
        for (index, lookup) in zip(targets.indices, lookups) {
            if case .found(_, let present) = lookup { needs.needs[index].before = try? present.withoutVersion() }
            var current = lookup
            for order in targets[index].orders where !ended.contains(orders[order].plan) {
                if targets[index].isSplit, needs.needs[index].content != nil {
                    needs.needs[index].rest.append(order)
                    continue
                }
                do throws(ImpossiblePut) {
                    guard let document = try Self.write(orders[order].effect, over: current) else { continue }
                    needs.needs[index].content = .document(document)
                    needs.needs[index].orders.append(order)
                    current = .found(RevisionID(""), document)
                } catch {
                    needs.fail(orders[order].plan, orders[order].failure(error.reason))
                }
            }
        }
        return needs
    }

    struct ImpossiblePut: Error { let reason: String }

    /// The document to write; nil if it needs no change.
    static func write(_ effect: PutEffect, over lookup: DocumentLookup) throws(ImpossiblePut) -> JSONText? {
        if case .refused(let reason) = lookup { throw ImpossiblePut(reason: "can't be read: \(reason)") }
        do throws(JSONEditError) {
            guard case .found(_, let current) = lookup else { return try effect.newDocument }
            return try effect.write(over: current.withoutVersion())
        } catch {
            throw ImpossiblePut(reason: error.description)
        }
    }
}
