/// The kinds of documents in the training app's todo data.
///
/// In a database with a single collection, a document names its kind in `type`. With one collection per kind, the
/// collection decides.
///
/// - Note: Source: sync-gateway-config.json of couchbaselabs/mobile-training-todo; its collections are those of
///   docker/sg-setup/config/db.json.
package enum TodoKind: String, CaseIterable, Sendable {
    /// Makes a user a moderator.
    case moderator
    /// A task list, which gives its owner access to its documents.
    case taskList = "task-list"
    /// A task of a list.
    case task
    /// Another user that a list is shared with.
    case listUser = "task-list.user"

    /// The kind of all documents of a collection.
    ///
    /// - Parameter collection: Its name without database and scope. The result is nil for other collections and for
    ///   nil.
    package init?(collection: String?) {
        guard let kind = Self.allCases.first(where: { $0.collection == collection }) else { return nil }
        self = kind
    }

    /// The name of the collection that has all documents of this kind, where each kind has one.
    package var collection: String {
        switch self {
        case .taskList: "lists"
        case .task: "tasks"
        case .listUser: "users"
        case .moderator: "moderators"
        }
    }

    /// For messages.
    var name: String {
        switch self {
        case .moderator: "moderators"
        case .taskList: "task lists"
        case .task: "tasks"
        case .listUser: "list users"
        }
    }

    /// The order in which documents are written. Lists and moderators grant access, so documents that need the access
    /// come after them.
    var order: Int {
        switch self {
        case .moderator: 0
        case .taskList: 1
        case .task: 2
        case .listUser: 3
        }
    }
}
