internal import LosslessJSON

/// Rows of a changes feed that arrived together, in the order in which they came.
///
/// One block of bytes and one tape for all of them, so that a row that nobody wants costs no allocation.
public final class ChangesBatch: Sendable {
    let text: JSONText
    let rows: [Change.Fields]
    private let faults: [Int32: JSONFault]

    init(text: JSONText, rows: [Change.Fields], faults: [Int32: JSONFault]) {
        self.text = text
        self.rows = rows
        self.faults = faults
    }

    func fault(ofRowAt start: Int32) -> JSONFault? { faults[start] }
}

extension ChangesBatch: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { rows.count }
    public subscript(position: Int) -> Change { Change(batch: self, fields: rows[position]) }

}

extension Slice<ChangesBatch> {
    /// Length of these rows in the answer, in bytes.
    public var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
