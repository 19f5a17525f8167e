public import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// A list of tasks. Its id begins with the owner's name and a dot.
public struct TaskList: TodoDocument, Hashable {
    public static let documentType: String? = "task-list"

    /// A deletion holds. Two new names: that of this save.
    public static let conflictPolicy = ConflictPolicy.deletesWin

    public var origin: DocumentOrigin
    /// What users see.
    public var name: String
    /// The name of the user whose it is. Not to be changed: the id begins with it.
    public let owner: String

    /// A new list.
    ///
    /// - Parameters:
    ///   - name: What users see.
    ///   - owner: The name of the user whose it is.
    ///   - key: What comes after the owner in the id. Default: a random UUID.
    public init(name: String, owner: String, key: String = DocumentOrigin().id.text) {
        origin = DocumentOrigin(DocumentID("\(owner).\(key)"))
        self.name = name
        self.owner = owner
    }

    /// - Throws: ``TodoDocumentError`` unless the id begins with the owner and a dot, and there is a name.
    public func validate() throws { try check(as: .taskList) }
}

extension Reference where Target == TaskList {
    /// A reference to a list, with its owner.
    public init(to list: TaskList) { self.init(list.id, owner: list.owner) }
}
