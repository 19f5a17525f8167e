/// What a user or a role can be given.
enum Grant: Hashable, Sendable {
    case role(String)
    /// - Parameter collection: `SCOPE.COLLECTION`.
    case channel(String, collection: String)

    /// As the file has it: roles are in no collection.
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
