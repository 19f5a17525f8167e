internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/_user/NAME` and `/DB/_role/NAME`. Users and roles created here are lost when the gateway restarts with its
    /// configuration.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func principal(_ request: Request, _ name: String, isRole: Bool) async throws -> Answer {
        switch (request.method, name.isEmpty) {
        case ("GET", true), ("HEAD", true): return .json(names(roles: isRole))
        case ("GET", false), ("HEAD", false):
            guard exists(name, isRole: isRole) else { throw RequestError.missing }
            return .json(isRole ? role(name) : user(name))
        case ("PUT", false), ("POST", true):
            return try await set(request, isRole: isRole, name: name.isEmpty ? nil : name)
        case ("DELETE", false):
            guard exists(name, isRole: isRole) else { throw RequestError.missing }
            try await accounts.change { users in
                if isRole { users.roles[name] = nil } else { users.accounts[name] = nil }
            }
            return Answer(status: 200, fields: [], body: .whole([]))
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, POST, PUT")
        }
    }

    private static let guest = "GUEST"

    private func exists(_ name: String, isRole: Bool) -> Bool {
        let users = accounts.current
        return isRole ? users.roles[name] != nil : name == Self.guest || users.accounts[name] != nil
    }

    private func names(roles isRole: Bool) -> [UInt8] {
        let users = accounts.current
        var body = JSONWriter()
        body.array { list in
            for name in (isRole ? Array(users.roles.keys) : Array(users.accounts.keys)).sorted() {
                list.escapedString(name)
            }
        }
        return body.bytes
    }

    private func set(_ request: Request, isRole: Bool, name given: String?) async throws -> Answer {
        let text = String(decoding: request.body, as: UTF8.self)
        let file: UsersFile
        let name: String
        do throws(EmbeddedGateway.UsersError) {
            file = try UsersFile(Array(text.utf8))
            name = given ?? file.root["name"]?.string ?? ""
            try file.checkName(name, at: file.root)
        } catch { throw RequestError(400, error.reason) }
        let isNew = !exists(name, isRole: isRole)
        try await accounts.change { users throws(RequestError) in
            do throws(EmbeddedGateway.UsersError) {
                if isRole {
                    users.roles[name] = try file.channels(file.root)
                } else if name == Self.guest {
                    users.guest = try file.account(file.root, knownRoles: nil, isGuest: true, over: users.guest)
                } else {
                    users.accounts[name] = try file.account(
                        file.root, knownRoles: nil, over: users.accounts[name] ?? .init())
                }
            } catch { throw RequestError(400, error.reason) }
        }
        return Answer(status: isNew ? 201 : 200, fields: [], body: .whole([]))
    }

    private func role(_ name: String) -> [UInt8] {
        let list = accounts.current.roles[name] ?? []
        var body = JSONWriter()
        body.object { body in
            body.member("name", escaped: name)
            body.member("admin_channels", list.byCollection[Self.defaultCollection])
            body.member("all_channels", all(Principal.role(name)))
        }
        return body.bytes
    }

    private func user(_ name: String) -> [UInt8] {
        let isGuest = name == Self.guest
        let users = accounts.current
        let account = isGuest ? users.guest : users.accounts[name] ?? .init()
        let key = Principal.user(isGuest ? nil : name)
        var body = JSONWriter()
        body.object { body in
            body.member("name", escaped: name)
            body.member("admin_channels", account.channels.byCollection[Self.defaultCollection])
            body.member("email", string: "")
            body.member("disabled", bool: account.isDisabled)
            body.member("admin_roles", account.roles)
            if !isGuest || !account.isDisabled { body.member("all_channels", all(key)) }
            body.member("roles", Set(store.principals[key]?.roles ?? []))
        }
        return body.bytes
    }

    /// All channels of the default collection, including those through roles.
    private func all(_ key: String) -> Set<String> {
        let principals = store.principals.all
        guard let principal = principals[key] else { return [] }
        let access = ChannelAccess.of(principal, roles: principals)[Self.defaultCollection] ?? ChannelAccess()
        return Set(access.held.keys)
    }
}

extension JSONWriter {
    /// Sorted. Omitted if there are none.
    fileprivate mutating func member(_ name: String, _ names: Set<String>?) {
        guard let names, !names.isEmpty else { return }
        self.name(name)
        array { list in for name in names.sorted() { list.escapedString(name) } }
    }
}
