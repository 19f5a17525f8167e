public import LosslessJSON

/// One row of `_all_docs`: a view into its batch. Nothing is copied or decoded before it is used.
public struct ListedDocument: Sendable {
    /// The content of a row. Exactly one applies.
    public enum Kind: Sendable, Equatable {
        /// A live document; with its body, if bodies were requested.
        case document
        /// A deleted document. Only CouchDB reports them, and only if they are requested by id.
        case deleted
        /// There is no document with this id.
        case missing
        /// A document whose body was requested but not sent, with the reason: this user may not see it, the gateway
        /// could not read it, or it was deleted meanwhile.
        case unreadable(reason: String)
        /// The document's body, or another part of the row, is not JSON. The error's offset counts from the start of
        /// the row.
        case malformed(JSONError)
    }

    let batch: DocumentBatch
    let fields: Fields

    /// Computed on each access. May search the body for `_deleted`.
    public var kind: Kind {
        if let damage { return .malformed(damage.error) }
        if let error = value(fields.error) {
            let error = error.string ?? "error"
            return error == "not_found" ? .missing : .unreadable(reason: value(fields.reason)?.string ?? error)
        }
        if fields.flags.contains(.deleted) || document?["_deleted"]?.bool == true { return .deleted }
        guard document == nil, batch.includesDocuments else { return .document }
        return .unreadable(reason: "the gateway sent no body")
    }

    /// The document's id, escapes resolved; invalid UTF-8 becomes replacement characters. Empty if the row has none.
    public var id: DocumentID {
        if let id = value(fields.id)?.string { return DocumentID(id) }
        return damage?.id ?? DocumentID(value(fields.key)?.string ?? "")
    }

    /// The winning revision; nil if the row has none.
    public var revision: RevisionID? { value(fields.revision)?.string.map(RevisionID.init) }

    /// The UTF-8 of ``id`` and ``revision``, copied only if they have escapes; empty if the row has none.
    package var name: (id: ArraySlice<UInt8>, revision: ArraySlice<UInt8>) {
        (value(fields.id)?.shownCharacters ?? [], value(fields.revision)?.shownCharacters ?? [])
    }

    /// The body as the gateway sent it; nil if it sent none.
    public var document: JSONValue? { value(fields.document) }

    /// The row's length in the answer, in bytes.
    public var byteCount: Int { Int(fields.end - fields.start) }

    private var damage: RowDamage? {
        fields.flags.contains(.malformed) ? batch.gathered.damage(of: fields) : nil
    }

    private func value(_ index: Int32) -> JSONValue? { batch.gathered.value(index) }
}

extension ListedDocument {
    /// The positions of a row's parts on the batch's tape; -1 if absent.
    ///
    /// `{"key","id","value":{"rev"},"doc":{…}}`; `{"key","error":"not_found"}`; for deleted documents
    /// `"value":{"rev","deleted":true},"doc":null`.
    struct Fields: RowFields {
        static let rowsMemberName: StaticString = "rows"
        static let keptMemberName: StaticString? = nil

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
