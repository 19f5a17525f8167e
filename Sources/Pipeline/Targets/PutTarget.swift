internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// A document of the keyspace that this run follows, or of another one to which its rules write.
struct DocumentPlace: Hashable, Sendable {
    /// Nil: the followed keyspace.
    let keyspace: String?
    let id: DocumentID
}

/// A changed document whose decision wants other documents.
struct PutTrigger: Sendable {
    let id: DocumentID
    let revision: RevisionID?
    let isDeleted: Bool
    /// Whether it is written itself, after the other documents. Then a conflict would show that it has changed.
    let isWritten: Bool
    /// Whether a newer change of it is sure to be decided, so this one need not be.
    let willBeDecidedAgain: Bool

    init(
        id: DocumentID, revision: RevisionID?, isDeleted: Bool = false, isWritten: Bool,
        willBeDecidedAgain: Bool = false
    ) {
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.isWritten = isWritten
        self.willBeDecidedAgain = willBeDecidedAgain
    }

    init(_ plan: StagedPlan, willBeDecidedAgain: Bool) {
        let content = plan.candidate.content
        self.init(
            id: plan.candidate.id, revision: content.revision, isDeleted: content.isDeleted,
            isWritten: plan.decision.isChanged, willBeDecidedAgain: willBeDecidedAgain)
    }

    /// Whether the document is no longer the one that was decided.
    func isOutdated(_ lookup: DocumentLookup) -> Bool {
        if willBeDecidedAgain { return false }
        return switch lookup {
        case .found(let found, _): isDeleted || found != revision
        case .deleted, .missing: !isDeleted
        case .refused: false
        }
    }
}

/// Another document that one decision wants.
struct PutOrder: Sendable {
    /// The index of the decision's plan.
    let plan: Int
    let effect: PutEffect
    /// The rule that wants it; nil if several do: it is a total.
    let rule: String?
    let place: DocumentPlace
    /// The rules that led to it, the last one included.
    let chain: RuleChain

    init(plan: Int, effect: PutEffect, rule: String?, home: KeyspaceName, chain: RuleChain) {
        self.plan = plan
        self.effect = effect
        self.rule = rule
        self.chain = chain
        place = DocumentPlace(
            keyspace: effect.keyspace == home.pathSegment ? nil : effect.keyspace, id: DocumentID(effect.id))
    }

    /// Why the change becomes a dead letter: its rule is the one that wants the document.
    func failure(_ reason: String) -> PlanFailure {
        let source = rule.map { ", put by rule '\($0)'" } ?? ""
        return PlanFailure(rule: rule, reason: "document '\(effect.id)'\(source): \(reason)")
    }
}

/// Why a plan can't have what it wants.
struct PlanFailure: Error, Equatable {
    /// The rule to blame; nil: the last one that fired.
    let rule: String?
    let reason: String
}

/// One other document, and all orders for it in one batch: a single write covers them.
struct PutTarget: Sendable {
    let place: DocumentPlace
    private(set) var orders: [PutOrder]
    /// Set after a refusal: one order per write, to find the one that is refused.
    private(set) var isOneByOne = false
    var history = WriteHistory()
    /// The last write, if no answer says that it was made.
    private(set) var unconfirmed: Need?

    init(_ order: PutOrder) {
        place = order.place
        orders = [order]
    }

    /// The orders, grouped by document, in the order of first mention.
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

    /// The earlier orders are settled: later orders are applied on top of them.
    mutating func resume(with rest: [PutOrder]) { orders = rest }

    /// Records the current revision of the document.
    mutating func note(_ lookup: DocumentLookup) { history.note(lookup) }

    // MARK: - Deciding what to write

    /// What remains to do, given the document as it is now.
    struct Need: Sendable {
        /// Nil: it needs no change.
        var document: JSONText?
        /// The orders that this write is for.
        var orders: [PutOrder] = []
        /// Why the order of a plan is impossible.
        var failures: [Int: PlanFailure] = [:]
        /// The orders for a later write.
        var rest: [PutOrder] = []

        /// The revision that is written over; nil if the document is not there.
        var earlier: RevisionID?

        /// The chain of rules that led to it.
        var chain: RuleChain { .shortest(of: orders.map(\.chain)) }

        /// The rules that want the document, each once.
        var lastRules: [String] {
            orders.reduce(into: []) { rules, order in
                if let rule = order.chain.rules.last, !rules.contains(rule) { rules.append(rule) }
            }
        }
    }

    func need(_ lookup: DocumentLookup) -> Need {
        var need = Need(earlier: lookup.revision)
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
                need.failures[order.plan] = order.failure(error.reason)
            }
        }
        // Orders may cancel each other out.
        if case .found(_, let present) = lookup, let present = try? present.withoutVersion(),
            need.document?.root.isEquivalent(to: present.root) == true
        {
            (need.document, need.orders) = (nil, [])
        }
        return need
    }

    struct PutImpossible: Error { let reason: String }

    /// The document to write; nil if it needs no change.
    static func write(_ effect: PutEffect, over lookup: DocumentLookup) throws(PutImpossible) -> JSONText? {
        if case .refused(let reason) = lookup { throw PutImpossible(reason: "can't be read: \(reason)") }
        do throws(JSONEditError) {
            guard case .found(_, let current) = lookup else { return try effect.newDocument }
            return try effect.write(over: current.withoutVersion())
        } catch {
            throw PutImpossible(reason: error.description)
        }
    }
}

// MARK: - The answer

extension PutTarget {
    /// What the answer to a write means for the document.
    enum WriteResult: Equatable {
        case written(RevisionID)
        /// Read it, and write it if that is still needed.
        case again
        /// The orders of the write are impossible.
        case failed(reason: String)
        /// Others write it all the time: leave it alone for a while.
        case postponed
    }

    /// The write whose answer was lost, if the document is as it left it, with its revision. Returned once.
    mutating func takeMade(_ lookup: DocumentLookup) -> (need: Need, revision: RevisionID)? {
        guard let need = unconfirmed, let document = need.document else { return nil }
        unconfirmed = nil
        return lookup.revision(ofContent: document).map { (need, $0) }
    }

    /// - Parameter need: What was written.
    mutating func record(_ outcome: BulkOutcome, of need: Need, attemptLimit: Int) -> WriteResult {
        unconfirmed = outcome.isWritten ? nil : need
        switch history.record(outcome, orders: need.orders.count, attemptLimit: attemptLimit) {
        case .written(let revision):
            resume(with: need.rest)
            return .written(revision)
        case .splitUp:
            splitUp()
            return .again
        case .again: return .again
        case .failed(let reason): return .failed(reason: reason)
        case .postponed: return .postponed
        }
    }
}
