internal import LosslessJSON

/// The data that a parser records of each row: the positions of its parts on the batch's tape. One type per kind of
/// answer.
protocol RowFields: Sendable {
    /// The member of the answer that holds the rows.
    static var rowsMemberName: StaticString { get }
    /// Another member of the answer whose value is kept.
    static var keptMemberName: StaticString? { get }

    /// The range of the row in the batch's bytes.
    var start: Int32 { get }
    var end: Int32 { get }
    /// Whether the row has all required parts.
    var isComplete: Bool { get }

    init(start: Int32, end: Int32)

    /// Records a member of the row; ignores unknown ones.
    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8])
    /// Inherits missing values from the previous row of the same batch.
    mutating func complete(after previous: Self?)
    /// Records that something in the row is not JSON. Members that can't be read are not recorded.
    mutating func markMalformed()
}

extension RowFields {
    mutating func complete(after previous: Self?) {}
}

/// The error of a row that contains invalid JSON.
struct RowDamage: Sendable {
    /// Its offset counts from the start of the row.
    let error: JSONError
    /// The id with replacement characters, if the id itself is damaged.
    let id: DocumentID?
}

/// Rows that arrived together: one block of bytes and one tape for all of them.
struct GatheredRows<Fields: RowFields>: Sendable {
    let text: JSONText
    var rows: [Fields]
    /// Keyed by the start of the row.
    let damages: [Int32: RowDamage]

    func damage(of row: Fields) -> RowDamage? { damages[row.start] }

    /// The value at a recorded position; nil for -1, which means absent.
    func value(_ index: Int32) -> JSONValue? { index < 0 ? nil : text.value(at: Int(index)) }
}
