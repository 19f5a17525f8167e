/// The kinds of documents of the training app's todo data.
///
/// In a database with one collection a document says its kind in `type`. With a collection for each kind it says
/// nothing: the collection does.
///
/// - Note: Source: sync-gateway-config.json of couchbaselabs/mobile-training-todo; its collections are those of
///   docker/sg-setup/config/db.json.
package enum TodoKind: String, CaseIterable, Sendable {
    /// Makes a user a moderator.
    case moderator
    /// A list, which gives its owner access to what belongs to it.
    case taskList = "task-list"
    /// A task of a list.
    case task
    /// Another user that a list is shared with.
    case listUser = "task-list.user"

    /// The kind of all documents of a collection.
    ///
    /// - Parameter collection: Its name alone, without database and scope. Nil for other collections, and for nil.
    package init?(collection: String?) {
        switch collection {
        case "lists": self = .taskList
        case "tasks": self = .task
        case "users": self = .listUser
        case "moderators": self = .moderator
        default: return nil
        }
    }

    /// For messages.
    var name: String {
        switch self {
        case .moderator: "moderators"
        case .taskList: "task lists"
        case .task: "tasks"
        case .listUser: "users of lists"
        }
    }

    /// Where documents of this kind come when many are written. Access is granted by lists and by moderators; what
    /// needs it comes behind them.
    var order: Int {
        switch self {
        case .moderator: 0
        case .taskList: 1
        case .task: 2
        case .listUser: 3
        }
    }
}
