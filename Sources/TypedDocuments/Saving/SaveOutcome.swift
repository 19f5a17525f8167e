public import GatewayClient
internal import LosslessJSON

/// The outcome of saving or deleting a document.
public enum SaveOutcome<Document: DocumentCodable>: Sendable {
    /// The document was stored as this revision.
    case saved(RevisionID)
    /// Nothing was written: nothing has changed since it was read, or a ``ConflictPolicy`` chose the other version.
    case unchanged
    /// The document was changed concurrently since it was read. Nothing was written.
    case conflict(with: OtherVersion<Document>)
}

/// The current state of a document that was changed concurrently.
public enum OtherVersion<Document: DocumentCodable>: Sendable {
    /// To overwrite it, make the change in this value and save it.
    case document(Document)
    /// It was deleted.
    case deleted
    /// It no longer fits the type.
    case undecodable(DocumentDecodingError)
}

extension OtherVersion {
    /// The text as the gateway sent it.
    var text: JSONText? { if case .document(let document) = self { document.origin.text } else { nil } }

    var isUndecodable: Bool { if case .undecodable = self { true } else { false } }

    var revision: RevisionID? {
        switch self {
        case .document(let document): document.revision
        case .deleted: nil
        case .undecodable(let error): error.revision
        }
    }
}
