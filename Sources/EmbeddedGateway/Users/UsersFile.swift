internal import LosslessJSON

/// Parses a users file into ``EmbeddedGateway/Users``.
struct UsersFile {
    typealias Users = EmbeddedGateway.Users
    typealias UsersError = EmbeddedGateway.UsersError

    private let text: [UInt8]
    private let json: BackquotedText
    let root: JSONValue

    init(_ text: [UInt8]) throws(UsersError) {
        self.text = text
        json = BackquotedText(text)
        do { root = try JSONText(json.json, limits: .files).root } catch {
            throw Self.error(error.description, at: JSONError(.unexpectedEnd, at: json.place(error.offset)), in: text)
        }
    }

    func users(of database: String) throws(UsersError) -> Users {
        guard let databases = root["databases"], databases.kind == .object else {
            throw error("\"databases\" is missing, an object with one member for each database", at: root)
        }
        guard let settings = databases[database] else {
            let names = databases.members.compactMap { $0.name.string.map { "\"\($0)\"" } }
            let others = names.isEmpty ? "" : "; it has \(names.joined(separator: ", ")): choose with --database NAME"
            throw error("the database \"\(database)\" is missing\(others)", at: databases)
        }
        try expectObject(settings, "a database")
        try refuseFilters(settings)
        var users = Users()
        users.limits = try limits(settings)
        users.functions[Router.defaultCollection] = try function(settings, users.limits)
        users.collections = try collections(settings["scopes"], into: &users)
        for role in try members(settings["roles"], "\"roles\"") {
            try checkName(role.name.string ?? "", at: role.name)
            try refuseUnknown(role.value, ["admin_channels", "collection_access", "name"])
            users.roles[role.name.string ?? ""] = try channels(role.value)
        }
        for user in try members(settings["users"], "\"users\"") {
            if user.name.string == "GUEST" {
                users.guest = try account(user.value, knownRoles: Set(users.roles.keys), isGuest: true)
                continue
            }
            try checkName(user.name.string ?? "", at: user.name)
            users.accounts[user.name.string ?? ""] = try account(user.value, knownRoles: Set(users.roles.keys))
        }
        if let guest = settings["guest"] {
            users.guest = try account(guest, knownRoles: Set(users.roles.keys), isGuest: true)
        }
        return users
    }

    /// The gateway imports nothing, and must not silently ignore such a function.
    func refuseFilters(_ settings: JSONValue) throws(UsersError) {
        guard let value = settings["import_filter"] else { return }
        throw error("\"import_filter\" functions are not supported: this gateway imports nothing", at: value)
    }

    /// - Parameters:
    ///   - knownRoles: Nil: a role may be created later.
    ///   - known: The account whose values fill in missing members.
    func account(
        _ value: JSONValue, knownRoles: Set<String>?, isGuest: Bool = false, over known: Users.Account = .init()
    ) throws(UsersError) -> Users.Account {
        try expectObject(value, isGuest ? "\"guest\"" : "a user")
        try refuseUnknown(
            value,
            ["name", "password", "admin_channels", "admin_roles", "collection_access", "disabled", "email"])
        var account = known
        if value["admin_channels"] != nil || value["collection_access"] != nil {
            account.channels = try channels(value)
        }
        if value["admin_roles"] != nil { account.roles = try names(value, "admin_roles") }
        if let knownRoles, let unknown = account.roles.subtracting(knownRoles).min(), let list = value["admin_roles"] {
            throw error("the role \"\(unknown)\" is not among \"roles\"", at: list)
        }
        if let disabled = value["disabled"] {
            guard let flag = disabled.bool else { throw error("\"disabled\" must be true or false", at: disabled) }
            account.isDisabled = flag
        }
        if let password = value["password"], !isGuest { account.password = try hash(password) }
        return account
    }

    private func hash(_ value: JSONValue) throws(UsersError) -> PasswordHash {
        guard let password = value.string else { throw error("\"password\" must be a string", at: value) }
        guard password.utf8.count >= 3 else { throw error("passwords must have at least 3 characters", at: value) }
        return PasswordHash(password)
    }

    /// A list of names. Empty if the member is missing.
    func names(_ value: JSONValue, _ member: String) throws(UsersError) -> Set<String> {
        guard let list = value[member], list.kind != .null else { return [] }
        guard list.kind == .array else { throw error("\"\(member)\" must be a list of names", at: list) }
        var names: Set<String> = []
        for element in list.elements {
            guard let name = element.string, !name.isEmpty, !name.contains(",") else {
                throw error("the names in \"\(member)\" must be text without commas", at: element)
            }
            names.insert(name)
        }
        return names
    }

    func members(_ value: JSONValue?, _ what: String) throws(UsersError) -> [JSONValue.Member] {
        guard let value else { return [] }
        try expectObject(value, what)
        return Array(value.members)
    }

    func checkName(_ name: String, at place: JSONValue) throws(UsersError) {
        guard !name.isEmpty, name.utf8.count <= 128, !name.contains(where: { ":/,`".contains($0) }) else {
            throw error("names have 1 to 128 characters, without : / , and `", at: place)
        }
    }

    func expectObject(_ value: JSONValue, _ what: String) throws(UsersError) {
        guard value.kind == .object else { throw error("\(what) must be an object", at: value) }
    }

    func refuseUnknown(_ value: JSONValue, _ known: Set<String>) throws(UsersError) {
        try expectObject(value, "a role or user")
        for member in value.members {
            guard let name = member.name.string, !known.contains(name) else { continue }
            throw error("unknown member \"\(name)\"", at: member.name)
        }
    }

    func error(_ reason: String, at value: JSONValue) -> UsersError {
        Self.error(reason, at: JSONError(.unexpectedEnd, at: json.place(value.range.lowerBound)), in: text)
    }

    private static func error(_ reason: String, at place: JSONError, in text: [UInt8]) -> UsersError {
        let (line, column) = place.position(in: text.span)
        return UsersError(line: line, column: column, reason: reason)
    }
}
