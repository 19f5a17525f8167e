public import FoundationEssentials
public import GatewayClient
internal import TodoChecks
public import TypedDocuments

/// A task of a list.
public struct TodoTask: TodoDocument, Hashable {
    public static let documentType: String? = "task"

    /// As in the training app: text, state and picture are merged separately. A concurrently deleted task is created
    /// again, because an edited revision wins over a deletion there.
    public static let conflictPolicy = ConflictPolicy.merge

    public var origin: DocumentOrigin
    /// The text of the task.
    public var task: String
    /// Whether it is done; false if the document does not say.
    public var complete: Bool
    /// The creation time; nil if the document does not say.
    public var createdAt: Date?
    /// The list that it belongs to.
    public var taskList: Reference<TaskList>
    /// The attachment `image`, or the Couchbase Lite blob of this name.
    public var image: Attachment?

    /// The owner of the list; empty if the document does not say.
    public var owner: String { taskList.owner ?? "" }

    /// A new task.
    ///
    /// - Parameters:
    ///   - task: The text of the task.
    ///   - list: The list of the task. Its owner also owns the task.
    ///   - id: Default: a random UUID.
    ///   - complete: Whether it is done.
    ///   - createdAt: Default: now.
    ///   - image: A picture to store with it.
    public init(
        _ task: String, in list: TaskList, id: DocumentID = DocumentOrigin().id, complete: Bool = false,
        createdAt: Date? = Date(), image: Attachment? = nil
    ) {
        origin = DocumentOrigin(id)
        self.task = task
        self.complete = complete
        self.createdAt = createdAt
        taskList = Reference(to: list)
        self.image = image
    }

    /// - Throws: ``TodoDocumentError`` unless it has a text, and a list whose id begins with its owner and a dot.
    public func validate() throws { try check(as: .task) }

    private enum CodingKeys: CodingKey { case origin, task, complete, createdAt, taskList, image }

    /// Decodes like a synthesized initializer, but `complete` may be missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        origin = try container.decode(DocumentOrigin.self, forKey: .origin)
        task = try container.decode(String.self, forKey: .task)
        complete = try container.decodeIfPresent(Bool.self, forKey: .complete) ?? false
        createdAt = try container.decodeIfPresent(Date.self, forKey: .createdAt)
        taskList = try container.decode(Reference<TaskList>.self, forKey: .taskList)
        image = try container.decodeIfPresent(Attachment.self, forKey: .image)
    }
}
