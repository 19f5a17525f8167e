public import LosslessJSON

/// One row of a changes feed: a view into its batch. Nothing is copied or decoded before it is used.
public struct Change: Sendable {
    /// What a row reports. Exactly one applies; all but `failure` advance the feed.
    public enum Kind: Sendable, Equatable {
        /// A live document, with its body.
        case document
        /// A deleted document. The body, if the gateway sent one, contains little more than `_id` and `_rev`.
        case tombstone
        /// A user or role (`_user/NAME`): Sync Gateway reports them in the same feed, without a body.
        case principal
        /// The document left the channels that this client sees (Sync Gateway).
        case removed
        /// This client lost access (Sync Gateway, if ``ChangesRequest/includesRevocations`` is set).
        case revoked
        /// A document without its body: bodies were not requested, it has changed again, or it could not be read.
        case withoutBody
        /// The document's body, or another part of the row, is not JSON. The error's offset counts from the start of
        /// the row.
        case malformed(JSONError)
        /// Sync Gateway failed (`err`): the rows after this one are missing. Request again from the row before.
        case failure
    }

    let batch: ChangesBatch
    let fields: Fields

    /// Computed on each access.
    public var kind: Kind {
        if fields.flags.contains(.failed) { return .failure }
        if fields.flags.contains(.revoked) { return .revoked }
        if fields.flags.contains(.removed) { return .removed }
        if let damage { return .malformed(damage.error) }
        if isPrincipal { return .principal }
        if fields.flags.contains(.deleted) { return .tombstone }
        return fields.document < 0 ? .withoutBody : .document
    }

    /// The sequence after which the feed can be continued without missing a later row. Nil for ``Kind/failure`` rows
    /// without a sequence.
    ///
    /// A row whose `seq` is null (CouchDB's `seq_interval`) or a list (BigCouch) has the sequence of the previous row.
    /// A feed that continues from there returns this row again.
    public var sequence: SequenceID? {
        if let sequence = value(fields.sequence).flatMap(SequenceID.init) { return sequence }
        return fields.isWithoutSequence ? batch.preceding : nil
    }

    /// The document's id, escapes resolved; invalid UTF-8 becomes replacement characters. Empty if the row has none.
    public var id: DocumentID {
        if let id = value(fields.id)?.string { return DocumentID(id) }
        return damage?.id ?? ""
    }

    /// The winning revision; nil for principals.
    public var revision: RevisionID? { value(fields.revision)?.string.map(RevisionID.init) }

    /// The UTF-8 of ``id`` and ``revision``, copied only if they have escapes; empty if the row has none.
    package var name: (id: ArraySlice<UInt8>, revision: ArraySlice<UInt8>) {
        (value(fields.id)?.shownCharacters ?? [], value(fields.revision)?.shownCharacters ?? [])
    }

    /// The leaf revisions that the row names, the winner first; only the winner unless
    /// ``ChangesRequest/listsAllLeaves`` was set. None for principals.
    public var revisions: [RevisionID] {
        value(fields.changes)?.elements.compactMap { $0["rev"]?.string.map(RevisionID.init) } ?? []
    }

    /// Whether the document is deleted. May be true for ``Kind/removed`` too: deletion takes a document out of its
    /// channels.
    public var isDeleted: Bool { fields.flags.contains(.deleted) }

    /// The channels that a ``Kind/removed`` document has left.
    public var leftChannels: [String] { value(fields.removed)?.elements.compactMap(\.string) ?? [] }

    /// The body as the gateway sent it; nil if it sent none.
    public var document: JSONValue? { value(fields.document) }

    /// The row's length in the answer, in bytes.
    public var byteCount: Int { Int(fields.end - fields.start) }

    private var isPrincipal: Bool {
        guard let content = value(fields.id)?.rawContent else { return false }
        return content.starts(with: "_user/".utf8) || content.starts(with: "_role/".utf8)
    }

    private var damage: RowDamage? {
        fields.flags.contains(.malformed) ? batch.gathered.damage(of: fields) : nil
    }

    private func value(_ index: Int32) -> JSONValue? { batch.gathered.value(index) }
}

// MARK: - Parsing a row

extension Change {
    /// The positions of a row's parts on the batch's tape; -1 if absent.
    struct Fields: RowFields {
        static let rowsMemberName: StaticString = "results"
        static let keptMemberName: StaticString? = "last_seq"

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

        /// A row without `seq` does not belong to a feed.
        var isComplete: Bool { sequence >= 0 || !flags.isDisjoint(with: [.failed, .withoutSequence]) }

        /// Neither this row nor an earlier row of its batch has a sequence.
        var isWithoutSequence: Bool { sequence < 0 && flags.contains(.withoutSequence) }

        mutating func complete(after previous: Change.Fields?) {
            if isWithoutSequence, let previous { sequence = previous.sequence }
        }

        mutating func markMalformed() { flags.insert(.malformed) }
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        static let deleted = Flags(rawValue: 1)
        static let removed = Flags(rawValue: 2)
        static let revoked = Flags(rawValue: 4)
        static let failed = Flags(rawValue: 8)
        static let malformed = Flags(rawValue: 16)
        /// `seq` is null or a list.
        static let withoutSequence = Flags(rawValue: 32)
    }
}

extension Change.Fields {
    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        let kind = tape.kind(of: value)
        let index = Int32(value)
        if tape.isString(name, "seq", in: bytes) {
            switch kind {
            case .number, .string: sequence = index
            case .null, .array: flags.insert(.withoutSequence)
            default: break
            }
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
