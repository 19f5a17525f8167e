internal import LosslessJSON

/// Parses a users file into ``EmbeddedGateway/Users``.
struct UsersFile {
    typealias Users = EmbeddedGateway.Users
    typealias UsersError = EmbeddedGateway.UsersError

    private let text: [UInt8]
    private let root: JSONValue

    init(_ text: [UInt8]) throws(UsersError) {
        self.text = text
        do { root = try JSONText(text, limits: .files).root } catch {
            throw Self.error(error.description, at: error, in: text)
        }
    }

    func users(of database: String) throws(UsersError) -> Users {
        guard let databases = root["databases"], databases.kind == .object else {
            throw error("\"databases\" is missing, an object with one member for each database", at: root)
        }
        guard let settings = databases[database] else {
            throw error("the database \"\(database)\" is missing", at: databases)
        }
        try expectObject(settings, "a database")
        try refuseFunctions(settings)
        var users = Users()
        users.collections = try collections(settings["scopes"])
        for role in try members(settings["roles"], "\"roles\"") {
            try checkName(role.name)
            try refuseUnknown(role.value, ["admin_channels", "collection_access", "name"])
            users.roles[role.name.string ?? ""] = try channels(role.value)
        }
        for user in try members(settings["users"], "\"users\"") {
            if user.name.string == "GUEST" {
                users.guest = try account(user.value, knownRoles: Set(users.roles.keys), isGuest: true)
                continue
            }
            try checkName(user.name)
            users.accounts[user.name.string ?? ""] = try account(user.value, knownRoles: Set(users.roles.keys))
        }
        if let guest = settings["guest"] {
            users.guest = try account(guest, knownRoles: Set(users.roles.keys), isGuest: true)
        }
        return users
    }

    /// The gateway can't run JavaScript, and must not silently decide differently from such a function.
    func refuseFunctions(_ settings: JSONValue) throws(UsersError) {
        for name in ["sync", "import_filter"] {
            guard let value = settings[name] else { continue }
            throw error(
                "\"\(name)\" functions are not supported: "
                    + "documents go to the channels that their member \"channels\" names",
                at: value)
        }
    }

    private func account(
        _ value: JSONValue, knownRoles: Set<String>, isGuest: Bool = false
    ) throws(UsersError) -> Users.Account {
        try expectObject(value, isGuest ? "\"guest\"" : "a user")
        try refuseUnknown(
            value,
            ["name", "password", "admin_channels", "admin_roles", "collection_access", "disabled", "email"])
        var account = Users.Account()
        account.channels = try channels(value)
        account.roles = try names(value, "admin_roles")
        if let unknown = account.roles.subtracting(knownRoles).min(), let list = value["admin_roles"] {
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

    /// A list of names; empty if the member is missing.
    func names(_ value: JSONValue, _ member: String) throws(UsersError) -> Set<String> {
        guard let list = value[member], list.kind != .null else { return [] }
        guard list.kind == .array else { throw error("\"\(member)\" must be a list of names", at: list) }
        var names: Set<String> = []
        for element in list.elements {
            guard let name = element.string, !name.isEmpty, !name.contains(",") else {
                throw error("\"\(member)\" must hold names without commas", at: element)
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

    private func checkName(_ name: JSONValue) throws(UsersError) {
        let text = name.string ?? ""
        guard !text.isEmpty, text.utf8.count <= 128, !text.contains(where: { ":/,`".contains($0) }) else {
            throw error("names have 1 to 128 characters, without : / , and `", at: name)
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
        Self.error(reason, at: JSONError(.unexpectedEnd, at: value.range.lowerBound), in: text)
    }

    private static func error(_ reason: String, at place: JSONError, in text: [UInt8]) -> UsersError {
        let (line, column) = place.position(in: text.span)
        return UsersError(line: line, column: column, reason: reason)
    }
}
