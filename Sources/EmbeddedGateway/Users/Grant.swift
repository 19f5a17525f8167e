/// A channel or role that can be granted to a user or a role.
enum Grant: Hashable, Sendable {
    case role(String)
    /// - Parameter collection: `SCOPE.COLLECTION`.
    case channel(String, collection: String)

    /// From its stored form; a role has an empty collection.
    init(collection: String, name: String) {
        self = collection.isEmpty ? .role(name) : .channel(name, collection: collection)
    }

    var collection: String {
        switch self {
        case .role: ""
        case .channel(_, let collection): collection
        }
    }

    var name: String {
        switch self {
        case .role(let name), .channel(let name, _): name
        }
    }
}
