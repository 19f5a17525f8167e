internal import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// Makes a user a moderator, who sees all lists. Its id is `moderator.` and the user's name.
public struct Moderator: TodoDocument, Hashable {
    public static let documentType: String? = "moderator"

    /// A deletion wins, so that an old edit does not restore a revoked right.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// The name of the moderator.
    public let username: String

    /// The moderator's name. Only an administrator may write the document itself.
    public var owner: String { username }

    /// Makes a user a moderator.
    public init(_ username: String) {
        origin = DocumentOrigin(DocumentID("moderator.\(username)"))
        self.username = username
    }

    /// - Throws: ``TodoDocumentError`` unless the id is `moderator.` and the name.
    public func validate() throws { try check(as: .moderator) }
}
