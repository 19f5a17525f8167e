internal import LosslessJSON

/// What one kind of answer notes of its rows while they are read: where their parts stand on the batch's tape.
protocol RowFields: Sendable {
    /// The member of the answer that holds the rows.
    static var rowsName: StaticString { get }
    /// Another member of the answer whose value is kept.
    static var keptName: StaticString? { get }

    /// Where the row stands in the batch's bytes.
    var start: Int32 { get }
    var end: Int32 { get }
    /// Whether there is all that a row must have.
    var isComplete: Bool { get }

    init(start: Int32, end: Int32)

    /// Takes notice of a member of the row. Unknown ones are left alone.
    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8])
    /// Something in the row is not JSON; the members that can't be read are not noted.
    mutating func markMalformed()
}

/// What is wrong with a row that is not JSON.
struct RowDamage: Sendable {
    /// Counted from the start of the row.
    let fault: JSONFault
    /// The id with replacement characters, if the id itself is damaged.
    let id: DocumentID?
}

/// Rows that arrived together: one block of bytes and one tape for all of them.
struct GatheredRows<Fields: RowFields>: Sendable {
    let text: JSONText
    var rows: [Fields]
    /// By the start of the row.
    let damages: [Int32: RowDamage]

    func damage(of row: Fields) -> RowDamage? { damages[row.start] }

    /// The value at a place that a row has noted; -1: it was not there.
    func value(_ index: Int32) -> JSONValue? { index < 0 ? nil : text.value(at: Int(index)) }
}
