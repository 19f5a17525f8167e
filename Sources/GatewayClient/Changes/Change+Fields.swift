internal import LosslessJSON

extension Change {
    /// The positions of a row's parts on the batch's tape; -1 if absent.
    struct Fields: RowFields {
        static let rowsName: StaticString = "results"
        static let keptName: StaticString? = "last_seq"

        let start: Int32
        let end: Int32
        var sequence: Int32 = -1
        var id: Int32 = -1
        var revision: Int32 = -1
        var document: Int32 = -1
        var changes: Int32 = -1
        var removed: Int32 = -1
        var flags: Flags = []

        init(start: Int32, end: Int32) {
            self.start = start
            self.end = end
        }

        /// A feed can't be continued from a row without a sequence.
        var isComplete: Bool { sequence >= 0 || flags.contains(.failed) }

        mutating func markMalformed() { flags.insert(.malformed) }
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        static let deleted = Flags(rawValue: 1)
        static let removed = Flags(rawValue: 2)
        static let revoked = Flags(rawValue: 4)
        static let failed = Flags(rawValue: 8)
        static let malformed = Flags(rawValue: 16)
    }
}

extension Change.Fields {
    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        let kind = tape.kind(of: value)
        let index = Int32(value)
        if tape.isString(name, "seq", in: bytes) {
            if kind == .number || kind == .string { sequence = index }
        } else if tape.isString(name, "id", in: bytes) {
            if kind == .string { id = index }
        } else if tape.isString(name, "doc", in: bytes) {
            if kind == .object { document = index }
        } else if tape.isString(name, "changes", in: bytes) {
            if kind == .array { changes = index }
            revision = Self.firstRevision(ofChangesAt: value, on: tape, in: bytes)
        } else if tape.isString(name, "deleted", in: bytes) {
            if kind == .true { flags.insert(.deleted) }
        } else if tape.isString(name, "removed", in: bytes) {
            if kind == .array { removed = index }
            if kind != .null { flags.insert(.removed) }
        } else if tape.isString(name, "revoked", in: bytes) {
            if kind == .true { flags.insert(.revoked) }
        } else if tape.isString(name, "err", in: bytes) {
            if kind != .null { flags.insert(.failed) }
        }
    }

    /// `"changes":[{"rev":"3-…"},…]`: the first is the winner. -1 if there is none.
    private static func firstRevision(ofChangesAt changes: Int, on tape: JSONTape, in bytes: [UInt8]) -> Int32 {
        guard tape.kind(of: changes) == .array, tape.hasChildren(changes) else { return -1 }
        var revision: Int32 = -1
        tape.forEachMember(ofObjectAt: changes + 1) { name, value in
            if tape.isString(name, "rev", in: bytes), tape.kind(of: value) == .string { revision = Int32(value) }
        }
        return revision
    }
}
