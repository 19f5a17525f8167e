/// Rows of `_all_docs` that arrived together, in the order in which they came.
public final class DocumentBatch: Sendable {
    let gathered: GatheredRows<ListedDocument.Fields>
    let includesDocuments: Bool

    init(_ gathered: GatheredRows<ListedDocument.Fields>, includesDocuments: Bool) {
        self.gathered = gathered
        self.includesDocuments = includesDocuments
    }

    func withoutFirst() -> DocumentBatch {
        var rest = gathered
        rest.rows.removeFirst()
        return DocumentBatch(rest, includesDocuments: includesDocuments)
    }
}

extension DocumentBatch: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { gathered.rows.count }
    public subscript(position: Int) -> ListedDocument { ListedDocument(batch: self, fields: gathered.rows[position]) }
}
