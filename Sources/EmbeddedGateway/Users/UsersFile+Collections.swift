internal import LosslessJSON

extension UsersFile {
    /// `"scopes":{SCOPE:{"collections":{COLLECTION:{}}}}`. Nil if it is missing.
    func collections(_ scopes: JSONValue?, into users: inout Users) throws(UsersError) -> [String]? {
        guard let scopes else { return nil }
        var names: [String] = []
        for scope in try members(scopes, "\"scopes\"") {
            try refuseUnknown(scope.value, ["collections"])
            for collection in try members(scope.value["collections"], "\"collections\"") {
                try expectObject(collection.value, "a collection")
                try refuseFilters(collection.value)
                let name = "\(scope.name.string ?? "").\(collection.name.string ?? "")"
                guard EmbeddedGateway.isCollectionName(name) else {
                    throw error(
                        "scopes and collections have names of 1 to 251 letters, digits, -, _ and %, which don't begin with _ or % "
                            + "unless they are _default", at: collection.name)
                }
                names.append(name)
                users.functions[name] = try function(collection.value, users.limits)
            }
        }
        guard !names.isEmpty else { throw error("\"scopes\" must hold at least one collection", at: scopes) }
        return names
    }

    /// Reads `admin_channels` for the default collection, and
    /// `"collection_access":{SCOPE:{COLLECTION:{"admin_channels":[…]}}}` for others.
    ///
    /// - Note: Source: Sync Gateway's configuration and its admin API, `PUT /DB/_user/NAME`.
    func channels(_ value: JSONValue) throws(UsersError) -> Users.ChannelList {
        var list = Users.ChannelList(try names(value, "admin_channels"))
        for scope in try members(value["collection_access"], "\"collection_access\"") {
            for collection in try members(scope.value, "a scope") {
                try refuseUnknown(collection.value, ["admin_channels"])
                let channels = try names(collection.value, "admin_channels")
                let name = "\(scope.name.string ?? "").\(collection.name.string ?? "")"
                if !channels.isEmpty { list.byCollection[name, default: []].formUnion(channels) }
            }
        }
        return list
    }
}
