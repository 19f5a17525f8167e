public import LosslessJSON

/// One row of `_all_docs`: a view into its batch, nothing copied or decoded until it is asked for.
public struct ListedDocument: Sendable {
    public enum Kind: Sendable, Equatable {
        /// A live document; with its body, if bodies were asked for.
        case document
        /// A deleted document. CouchDB tells of them, and only if they are asked for by name.
        case deleted
        /// There is no document of this id.
        case missing
        /// A document whose body was asked for and did not come, and why: this user may not see it, the gateway could not
        /// read it, or it is gone by now.
        case unreadable(reason: String)
        /// A document whose body, or something else of its row, is not JSON. The place is counted from the start of the
        /// row.
        case malformed(JSONFault)
    }

    let batch: DocumentBatch
    let fields: Fields

    public var kind: Kind {
        if let damage { return .malformed(damage.fault) }
        if let error = value(fields.error) {
            let error = error.string ?? "error"
            return error == "not_found" ? .missing : .unreadable(reason: value(fields.reason)?.string ?? error)
        }
        if fields.flags.contains(.deleted) || document?["_deleted"]?.bool == true { return .deleted }
        guard document == nil, batch.includesDocuments else { return .document }
        return .unreadable(reason: "the gateway sent no body")
    }

    /// The document's id, escapes resolved; with replacement characters if it is not UTF-8.
    public var id: DocumentID {
        if let id = value(fields.id)?.string { return DocumentID(id) }
        return damage?.id ?? DocumentID(value(fields.key)?.string ?? "")
    }

    /// The winning revision; nil if the row has none.
    public var revision: RevisionID? { value(fields.revision)?.string.map(RevisionID.init) }

    /// The body as it stands in the answer; nil unless one came.
    public var document: JSONValue? { value(fields.document) }

    /// The row's length in the answer, in bytes.
    public var byteCount: Int { Int(fields.end - fields.start) }

    private var damage: RowDamage? {
        fields.flags.contains(.malformed) ? batch.gathered.damage(of: fields) : nil
    }

    private func value(_ index: Int32) -> JSONValue? { batch.gathered.value(index) }
}
