internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// What one decision does to the documents that a selector matches.
struct RelatedOrder: TargetOrder {
    let plan: Int
    let effect: RelatedEffect
    /// The name of the rule.
    let rule: String
    /// The changed document as it arrived.
    let input: DecisionInput
    let chain: RuleChain
    /// Why no document may be changed for it; nil if they may.
    let refusal: String?

    var query: RelatedQuery {
        RelatedQuery(
            selector: effect.selector, limit: effect.limit,
            source: DocumentID(input.document.root["_id"]?.string ?? ""))
    }

    /// Why nothing is done if more documents match than the rule allows.
    var tooManyMessage: String {
        "related: more documents match \(effect.selector.excerpt) than the limit of \(effect.limit) allows, so nothing "
            + "was done to any of them; if this is intended, raise 'limit' and retry the dead letter"
    }

    func failure(_ id: DocumentID, _ reason: String) -> PlanFailure {
        PlanFailure(rule: rule, reason: "the related document '\(id)': \(reason)")
    }
}

/// A search for the documents of one order.
struct RelatedQuery: Sendable {
    let selector: RelatedSelector
    /// If more documents match, the search stops.
    let limit: Int
    /// The changed document, which is not related to itself.
    let source: DocumentID

    /// Whether a matching document is included.
    func includes(_ id: DocumentID) -> Bool { id != source && !id.text.hasPrefix("_design/") }

    /// The ids in the selector that a document can have; nil if it has none.
    var ids: [DocumentID]? {
        selector.ids?.filter { !$0.isEmpty && !$0.hasPrefix("_") }.map { DocumentID($0) }.filter(includes)
    }
}

/// The orders of a batch for which documents were found, with their deciders.
struct RelatedBatch: TargetBatch {
    let orders: [RelatedOrder]
    let crashPoints = (written: CrashPoint.relatedWritten, remembered: CrashPoint.relatedRemembered)
    /// One for each order.
    let deciders: [RelatedDecider]
    /// The programs' `$now`, in seconds since 1970.
    let now: Int
    /// Reads attachments of the related documents.
    let stored: StoredAttachmentReader
    /// The memory for what the actions `put` for documents that are decided together, in bytes.
    let effectLimit: Int

    init(
        _ orders: [RelatedOrder], _ ruleSet: RuleSet, now: Int, stored: StoredAttachmentReader, effectLimit: Int
    ) {
        self.orders = orders
        self.effectLimit = effectLimit
        deciders = orders.map { RelatedDecider($0.effect, of: $0.input, ruleSet) }
        self.now = now
        self.stored = stored
    }
}

/// Divides the found documents into pages, which list each document once.
struct RelatedPages {
    private let found: [[DocumentID]]
    private let size: Int
    private var order = 0
    private var position = 0

    /// - Parameters:
    ///   - found: The documents of each order of a batch.
    ///   - size: The maximum number of documents of a page.
    init(_ found: [[DocumentID]], size: Int) {
        self.found = found
        self.size = size
    }

    /// Nil at the end.
    mutating func next() -> [Target]? {
        var page: [Target] = []
        var places: [DocumentID: Int] = [:]
        while order < found.count, page.count < size {
            guard position < found[order].count else {
                (order, position) = (order + 1, 0)
                continue
            }
            let id = found[order][position]
            position += 1
            if let place = places[id] {
                if page[place].orders.last != order { page[place].orders.append(order) }
            } else {
                places[id] = page.count
                page.append(Target(DocumentAddress(keyspace: nil, id: id), order))
            }
        }
        return page.isEmpty ? nil : page
    }
}
