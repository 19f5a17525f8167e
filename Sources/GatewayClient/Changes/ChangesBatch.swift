/// Rows of a changes feed that arrived together, in the order in which they came.
///
/// They share one block of bytes and one tape, so a row that nobody reads costs no allocation.
public final class ChangesBatch: Sendable {
    let gathered: GatheredRows<Change.Fields>

    init(_ gathered: GatheredRows<Change.Fields>) { self.gathered = gathered }
}

extension ChangesBatch: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of rows, at least 1.
    public var endIndex: Int { gathered.rows.count }
    /// The row at `position`, as a view that keeps the whole batch alive.
    public subscript(position: Int) -> Change { Change(batch: self, fields: gathered.rows[position]) }
}

extension Slice<ChangesBatch> {
    /// Length of these rows in the answer, in bytes.
    public var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
