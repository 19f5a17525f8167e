internal import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// A user with whom a list is shared. Its id is the list's id, a dot and the user's name, so a list is shared with each
/// user only once.
public struct TaskListUser: TodoDocument, Hashable {
    public static let documentType: String? = "task-list.user"

    /// A deletion wins, so that an old edit does not share the list again.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// The shared list.
    public let taskList: Reference<TaskList>
    /// The user with access to the list.
    public let username: String

    /// The owner of the list; empty if the document does not say.
    public var owner: String { taskList.owner ?? "" }

    /// Shares a list.
    public init(_ username: String, of list: TaskList) {
        origin = DocumentOrigin(DocumentID("\(list.id).\(username)"))
        taskList = Reference(to: list)
        self.username = username
    }

    /// - Throws: ``TodoDocumentError`` unless the id is the list's id, a dot and the name.
    public func validate() throws { try check(as: .listUser) }
}
