/// Rows of a changes feed that arrived together, in the order in which they came.
///
/// One block of bytes and one tape for all of them, so that a row that nobody wants costs no allocation.
public final class ChangesBatch: Sendable {
    let gathered: GatheredRows<Change.Fields>

    init(_ gathered: GatheredRows<Change.Fields>) { self.gathered = gathered }
}

extension ChangesBatch: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { gathered.rows.count }
    public subscript(position: Int) -> Change { Change(batch: self, fields: gathered.rows[position]) }
}

extension Slice<ChangesBatch> {
    /// Length of these rows in the answer, in bytes.
    public var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
