internal import DocumentFlow
internal import GatewayClient

/// A changed document whose decision writes other documents.
struct Trigger: Sendable {
    let id: DocumentID
    let revision: RevisionID?
    let isDeleted: Bool
    /// Whether it is written itself after the other documents. Then a conflict would show that it has changed.
    let isWritten: Bool
    /// Whether a newer change of it is certain to be decided, so that this one need not be.
    let willBeDecidedAgain: Bool

    init(
        id: DocumentID, revision: RevisionID?, isDeleted: Bool = false, isWritten: Bool,
        willBeDecidedAgain: Bool = false
    ) {
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.isWritten = isWritten
        self.willBeDecidedAgain = willBeDecidedAgain
    }

    /// Whether the document is no longer the one that was decided.
    func isOutdated(_ lookup: DocumentLookup) -> Bool {
        if willBeDecidedAgain || InjectedFault.outdatedPut.isActive { return false }
        return switch lookup {
        case .found(let found, _): isDeleted || found != revision
        case .deleted, .missing: !isDeleted
        case .refused: false
        }
    }
}
