internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// The documents that a dry run would have `put` so far, so that later documents are decided as if these had been
/// written.
struct PreviewedPuts {
    /// A `put` that would write its document.
    struct Put {
        let order: PutOrder
        let document: JSONText
    }

    /// How many bytes of documents are remembered. Beyond that, a document that is `put` twice may be counted twice.
    private static let byteLimit = 8 << 20

    private var documents: [DocumentAddress: JSONText] = [:]
    /// The rules that led to these documents.
    var chains: [DocumentAddress: RuleChain] = [:]
    private var bytes = 0
    /// Documents of the followed keyspace that were submitted with their content after the `put`.
    private(set) var released: Set<DocumentID> = []

    /// A document with the previewed changes.
    ///
    /// - Parameter lookup: The document on the gateway.
    func current(_ place: DocumentAddress, _ lookup: DocumentLookup?) -> DocumentLookup {
        documents[place].map { .found(RevisionID(""), $0) } ?? lookup ?? .missing
    }

    /// The orders of one decision that would write something, applied in sequence.
    ///
    /// - Parameter lookups: The documents on the gateway.
    /// - Throws: Why an order is impossible: then none is shown, and the change would become a dead letter.
    func puts(
        for orders: [PutOrder], _ lookups: [DocumentAddress: DocumentLookup]
    ) throws(PlanFailure) -> [Put] {
        var puts: [Put] = []
        var earlier: [DocumentAddress: DocumentLookup] = [:]
        for order in orders {
            let now = earlier[order.place] ?? current(order.place, lookups[order.place])
            do throws(PutBatch.ImpossiblePut) {
                guard let document = try PutBatch.write(order.effect, over: now) else { continue }
                earlier[order.place] = .found(RevisionID(""), document)
                puts.append(Put(order: order, document: document))
            } catch {
                throw order.failure(error.reason)
            }
        }
        return puts
    }

    mutating func note(_ puts: [Put]) { for put in puts { note(put.order.place, put.document) } }

    mutating func note(_ place: DocumentAddress, _ document: JSONText) {
        guard bytes < Self.byteLimit else { return }
        bytes += document.bytes.count
        documents[place] = document
    }

    mutating func release(_ id: DocumentID) { released.insert(id) }
}
