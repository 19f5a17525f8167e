internal import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// Makes a user a moderator, who sees all lists. Its id is `moderator.` and the user's name.
public struct Moderator: TodoDocument, Hashable {
    public static let documentType: String? = "moderator"

    /// A deletion holds: a right that is withdrawn does not come back by an old edit.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// Who is a moderator.
    public let username: String

    /// The moderator. The document itself is an administrator's to write.
    public var owner: String { username }

    /// Makes a user a moderator.
    public init(_ username: String) {
        origin = DocumentOrigin(DocumentID("moderator.\(username)"))
        self.username = username
    }

    /// - Throws: ``TodoDocumentError`` unless the id is `moderator.` and the name.
    public func validate() throws { try check(as: .moderator) }
}
