internal import GatewayClient
internal import LosslessJSON

/// What an export does with one row.
enum ExportStep: Sendable {
    /// Write it, if it matches the selector.
    case write(JSONValue)
    /// Write its tombstone, if it is wanted. The text is nil if the gateway sent none.
    case writeTombstone(JSONValue?)
    /// Read it now: it came without its body.
    case read
    /// Withdraw its earlier line: it does not exist any more.
    case withdraw
    /// Report that it is missing in the export.
    case report(reason: String)
    case nothing

    /// Whether the gateway said what the document is now.
    var isOfKnownState: Bool {
        switch self {
        case .write, .writeTombstone, .withdraw: true
        case .read, .report, .nothing: false
        }
    }
}

extension ExportStep {
    /// - Parameter change: A row of the feed, with bodies.
    init(_ change: Change) {
        switch change.kind {
        case .principal, .revoked, .failure: self = .nothing
        case .removed where !change.isDeleted: self = .nothing
        case .document: self = change.document.map { .write($0) } ?? .nothing
        case .tombstone, .removed: self = .writeTombstone(change.document)
        case .withoutBody: self = .read
        case .malformed(let error): self = .malformed(error)
        }
    }

    /// - Parameter document: A row of `_all_docs`, which lists live documents only.
    init(_ document: ListedDocument) {
        switch document.kind {
        case .document: self = document.document.map { .write($0) } ?? .nothing
        case .deleted, .missing: self = .nothing
        case .unreadable(let reason): self = .report(reason: reason)
        case .malformed(let error): self = .malformed(error)
        }
    }

    /// - Parameter lookup: The document as it is now.
    init(_ lookup: DocumentLookup) {
        switch lookup {
        case .found(_, let text): self = .write(text.root)
        case .deleted, .missing: self = .withdraw
        case .refused(let reason): self = .report(reason: reason)
        }
    }

    private static func malformed(_ error: JSONError) -> Self {
        .report(reason: "it is not JSON: \(error), at byte \(error.offset) of its row")
    }
}
