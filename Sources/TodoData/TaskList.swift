public import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// A list of tasks. Its id begins with the owner's name and a dot.
public struct TaskList: TodoDocument, Hashable {
    public static let documentType: String? = "task-list"

    /// A deletion wins. If both sides changed the name, this side wins.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// The displayed name.
    public var name: String
    /// The name of the user who owns it. It can't change, because the id begins with it.
    public let owner: String

    /// A new list.
    ///
    /// - Parameters:
    ///   - name: The displayed name.
    ///   - owner: The name of the user who owns it.
    ///   - key: The part of the id after the owner. Default: a random UUID.
    public init(name: String, owner: String, key: String = DocumentOrigin().id.text) {
        origin = DocumentOrigin(DocumentID("\(owner).\(key)"))
        self.name = name
        self.owner = owner
    }

    /// - Throws: ``TodoDocumentError`` unless the id begins with the owner and a dot, and the name is not empty.
    public func validate() throws { try check(as: .taskList) }
}

extension Reference where Target == TaskList {
    /// A reference to a list, with its owner.
    public init(to list: TaskList) { self.init(list.id, owner: list.owner) }
}
