/// Rows of `_all_docs` that arrived together, in order of arrival.
public final class DocumentBatch: Sendable {
    let gathered: GatheredRows<ListedDocument.Fields>
    let includesDocuments: Bool

    init(_ gathered: GatheredRows<ListedDocument.Fields>, includesDocuments: Bool) {
        self.gathered = gathered
        self.includesDocuments = includesDocuments
    }

    /// The same rows in batches of at most `size`, in order.
    ///
    /// - Parameter size: At least 1.
    public func parts(of size: Int) -> [DocumentBatch] {
        guard count > size else { return [self] }
        return stride(from: 0, to: count, by: size).map { start in
            var part = gathered
            part.rows = Array(gathered.rows[start..<Swift.min(start + size, count)])
            return DocumentBatch(part, includesDocuments: includesDocuments)
        }
    }

    func withoutFirst() -> DocumentBatch {
        var rest = gathered
        rest.rows.removeFirst()
        return DocumentBatch(rest, includesDocuments: includesDocuments)
    }
}

extension DocumentBatch: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of rows, at least 1 in a returned batch.
    public var endIndex: Int { gathered.rows.count }
    /// The row at `position`, as a view that keeps the whole batch alive.
    public subscript(position: Int) -> ListedDocument { ListedDocument(batch: self, fields: gathered.rows[position]) }
}
