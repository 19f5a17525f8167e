internal import LosslessJSON

extension ListedDocument {
    /// The positions of a row's parts on the batch's tape; -1 if absent.
    ///
    /// `{"key","id","value":{"rev"},"doc":{…}}`; `{"key","error":"not_found"}`; for deleted documents
    /// `"value":{"rev","deleted":true},"doc":null`.
    struct Fields: RowFields {
        static let rowsName: StaticString = "rows"
        static let keptName: StaticString? = nil

        let start: Int32
        let end: Int32
        var id: Int32 = -1
        var key: Int32 = -1
        var revision: Int32 = -1
        var document: Int32 = -1
        var error: Int32 = -1
        var reason: Int32 = -1
        var flags: Flags = []

        init(start: Int32, end: Int32) {
            self.start = start
            self.end = end
        }

        /// A page can't be continued from a row that names no document.
        var isComplete: Bool { id >= 0 || key >= 0 || flags.contains(.malformed) }

        mutating func markMalformed() { flags.insert(.malformed) }
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        static let deleted = Flags(rawValue: 1)
        static let malformed = Flags(rawValue: 2)
    }
}

extension ListedDocument.Fields {
    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        let kind = tape.kind(of: value)
        let index = Int32(value)
        if tape.isString(name, "id", in: bytes) {
            if kind == .string { id = index }
        } else if tape.isString(name, "key", in: bytes) {
            if kind == .string { key = index }
        } else if tape.isString(name, "value", in: bytes) {
            noteValue(value, on: tape, in: bytes)
        } else if tape.isString(name, "doc", in: bytes) {
            if kind == .object { document = index }
        } else if tape.isString(name, "error", in: bytes) {
            if kind != .null { error = index }
        } else if tape.isString(name, "reason", in: bytes) {
            if kind == .string { reason = index }
        }
    }

    private mutating func noteValue(_ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        tape.forEachMember(ofObjectAt: value) { name, value in
            if tape.isString(name, "rev", in: bytes) {
                if tape.kind(of: value) == .string { revision = Int32(value) }
            } else if tape.isString(name, "deleted", in: bytes), tape.kind(of: value) == .true {
                flags.insert(.deleted)
            }
        }
    }
}
