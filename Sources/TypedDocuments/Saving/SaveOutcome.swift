public import GatewayClient
internal import LosslessJSON

/// What happened to a document that was to be saved or deleted.
public enum SaveOutcome<Document: DocumentCodable>: Sendable {
    /// The gateway has it, as this revision.
    case saved(RevisionID)
    /// Nothing was written: nothing has changed since it was read, or a ``ConflictPolicy`` takes what others have written.
    case unchanged
    /// Somebody else has changed the document since it was read. Nothing was written.
    case conflict(with: OtherVersion<Document>)
}

/// What a document is now that somebody else has changed it.
public enum OtherVersion<Document: DocumentCodable>: Sendable {
    /// To write over it: make the change in this value, and save it.
    case document(Document)
    /// It was deleted.
    case deleted
    /// It no longer fits the type.
    case misfit(DocumentDecodingError)
}

extension OtherVersion {
    /// As the gateway sent it.
    var text: JSONText? { if case .document(let document) = self { document.origin.text } else { nil } }

    var isMisfit: Bool { if case .misfit = self { true } else { false } }

    var revision: RevisionID? {
        switch self {
        case .document(let document): document.revision
        case .deleted: nil
        case .misfit(let error): error.revision
        }
    }
}
