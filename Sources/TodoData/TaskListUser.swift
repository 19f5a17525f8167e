internal import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// Another user that a list is shared with. Its id is that of the list, a dot and the user's name, so a list is shared
/// with each user once.
public struct TaskListUser: TodoDocument, Hashable {
    public static let documentType: String? = "task-list.user"

    /// A deletion holds: a list that is no longer shared is not shared again by an old edit.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// The list that is shared.
    public let taskList: Reference<TaskList>
    /// Who may use the list.
    public let username: String

    /// The owner of the list; empty if the document does not say it.
    public var owner: String { taskList.owner ?? "" }

    /// Shares a list.
    public init(_ username: String, of list: TaskList) {
        origin = DocumentOrigin(DocumentID("\(list.id).\(username)"))
        taskList = Reference(to: list)
        self.username = username
    }

    /// - Throws: ``TodoDocumentError`` unless the id is that of the list, a dot and the name.
    public func validate() throws { try check(as: .listUser) }
}
