internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// A document of the followed keyspace, or of another one to which rules write.
struct DocumentAddress: Hashable, Sendable {
    /// Nil: the followed keyspace.
    let keyspace: String?
    let id: DocumentID
}

/// One decision's effect on another document.
protocol TargetOrder: Sendable {
    /// The index of the decision's plan.
    var plan: Int { get }
    /// The rules that led to it, the last one included.
    var chain: RuleChain { get }

    /// Why the change becomes a dead letter.
    func failure(_ id: DocumentID, _ reason: String) -> PlanFailure
}

/// Why a plan's effects are impossible.
struct PlanFailure: Error, Equatable {
    /// The rule that failed; nil: the last one that fired.
    let rule: String?
    let reason: String
}

/// Another document, and all orders for it in one batch: a single write covers them.
struct Target: Sendable {
    let place: DocumentAddress
    /// Indexes in ``TargetBatch/orders``, in order.
    var orders: [Int]
    /// Set after a refusal: one order per write, to find the refused one.
    var isSplit = false
    var history = WriteHistory()
    /// The last write, if no answer has confirmed it, and the content that it would have made.
    private var unconfirmed: (write: TargetWrite, content: ContentFingerprint)?
    /// Whether the documents that its actions `put` take much memory: it must be decided alone.
    var isLarge = false
    /// The revision for which the `put`s of its actions were written.
    var revisionWithPuts: RevisionID?

    init(_ place: DocumentAddress, _ order: Int) {
        self.place = place
        orders = [order]
    }

    /// The write whose answer was lost, with its revision, if the document has the content of that write. Returned
    /// once.
    mutating func takeConfirmedWrite(_ lookup: DocumentLookup) -> (write: TargetWrite, revision: RevisionID)? {
        guard let (write, content) = unconfirmed else { return nil }
        unconfirmed = nil
        return lookup.revision(of: content).map { (write, $0) }
    }

    /// Takes the answer to a write.
    ///
    /// - Parameter document: What was written.
    mutating func record(
        _ outcome: BulkOutcome, of write: TargetWrite, _ document: JSONText, attemptLimit: Int
    ) -> WriteHistory.Advice {
        unconfirmed = outcome.isWritten ? nil : (write, ContentFingerprint(document.root))
        let advice = history.record(outcome, orders: write.orders.count, attemptLimit: attemptLimit)
        switch advice {
        case .written: orders = write.rest
        case .split: isSplit = true
        case .again, .failed, .postponed: break
        }
        return advice
    }
}

/// The new content of a document.
enum TargetContent: Sendable {
    case document(JSONText)
    /// With attachments, or as a tombstone.
    case decision(Decision)

    var document: JSONText {
        switch self {
        case .document(let document): document
        case .decision(let decision): decision.document
        }
    }

    /// In the form for `_bulk_docs`.
    var segments: [[UInt8]] {
        switch self {
        case .document(let document): [document.bytes]
        case .decision(let decision): decision.bodySegments()
        }
    }

    var isDeletion: Bool { if case .decision(let decision) = self { decision.isDeletion } else { false } }
}

/// A write of a target. Its content is not part of it, because it is kept until the write is confirmed.
struct TargetWrite: Sendable {
    /// The orders that it covers.
    let orders: [Int]
    /// The orders for a later write.
    let rest: [Int]
    /// The replaced revision; nil if the document does not exist.
    let earlier: RevisionID?
}

/// What a target needs, given the current document.
struct TargetNeed: Sendable {
    var target: Target
    /// The current document; nil if it does not exist.
    var before: JSONText?
    /// Nil: it needs no change.
    var content: TargetContent?
    /// The orders that the write covers.
    var orders: [Int] = []
    /// The orders for a later write.
    var rest: [Int] = []
    /// Documents that the actions `put`, each with the index of its order.
    var puts: [(order: Int, effect: PutEffect)] = []
    /// Whether it must be decided later, because what the actions `put` takes too much memory now.
    private(set) var isDeferred = false

    /// Frees what was computed.
    mutating func `defer`(isLarge: Bool) {
        (before, content, orders, rest, puts) = (nil, nil, [], [], [])
        isDeferred = true
        target.isLarge = target.isLarge || isLarge
    }

    init(_ target: Target) { self.target = target }

    var putBytes: Int { puts.reduce(0) { $0 + $1.effect.document.bytes.count } }

    /// Whether there is something to write. Orders may cancel each other out.
    var isWrite: Bool {
        guard let content else { return false }
        guard let before, !content.isDeletion else { return true }
        return !content.document.root.isEquivalent(to: before.root)
    }
}

/// What the targets of a batch need.
struct TargetNeeds: Sendable {
    var needs: [TargetNeed]
    /// Why an order is impossible, by plan.
    private(set) var failures: [Int: PlanFailure] = [:]
    /// Plans whose programs can't be run now.
    var undecided: Set<Int> = []

    init(_ targets: [Target]) { needs = targets.map { TargetNeed($0) } }

    /// The memory for the documents that actions `put`, in bytes.
    var putBytes: Int { needs.reduce(0) { $0 + $1.putBytes } }

    /// The first failure of a plan counts.
    mutating func fail(_ plan: Int, _ failure: PlanFailure) {
        if failures[plan] == nil { failures[plan] = failure }
    }

    /// The plans for which something would be written.
    func plans(_ orders: [some TargetOrder]) -> Set<Int> {
        needs.reduce(into: []) { plans, need in
            if need.isWrite { plans.formUnion(need.orders.map { orders[$0].plan }) }
            plans.formUnion(need.puts.map { orders[$0.order].plan })
        }
    }
}

/// Orders of one kind, and what their targets need.
protocol TargetBatch {
    associatedtype Order: TargetOrder
    var orders: [Order] { get }
    /// Passed once writes are accepted, and once the state has their rule chains.
    var crashPoints: (written: CrashPoint, remembered: CrashPoint) { get }

    /// What targets need. Without I/O, except for jq programs of actions.
    ///
    /// - Parameters:
    ///   - lookups: The current documents, one for each target.
    ///   - ended: Plans for which nothing more is done.
    func needs(_ targets: [Target], _ lookups: [DocumentLookup], ended: Set<Int>) async -> TargetNeeds
}

extension TargetBatch {
    /// The shortest chain of rules that led to a write.
    func chain(of orders: [Int]) -> RuleChain { .shortest(of: orders.map { self.orders[$0].chain }) }

    /// The rules that request a write, each once.
    func rules(of orders: [Int]) -> [String] {
        orders.reduce(into: []) { rules, order in
            if let rule = self.orders[order].chain.rules.last, !rules.contains(rule) { rules.append(rule) }
        }
    }

    func plans(of orders: [Int]) -> [Int] { orders.map { self.orders[$0].plan } }
}
