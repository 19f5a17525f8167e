internal import Encodings
internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/_session`: the current user, login and logout.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func session(_ request: Request) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return description(of: requestUser)
        case "POST": return try logIn(request)
        case "DELETE": return try logOut(request)
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, POST")
        }
    }

    /// Logs in with the name and password in the body, or as the user of the request's header fields.
    private func logIn(_ request: Request) throws -> Answer {
        let user = try named(request) ?? (requestUser.name == nil ? nil : requestUser)
        guard let user, let name = user.name else { throw RequestError(401, "Invalid login") }
        let (id, expires) = accounts.sessions.begin(for: name)
        var answer = description(of: user)
        answer.fields.append(.sessionCookie(id, path: "/\(database)", expires: expires))
        return answer
    }

    private func named(_ request: Request) throws(RequestError) -> RequestUser? {
        let object: JSONValue
        do { object = try request.object() } catch {
            if requestUser.name != nil { return nil }
            throw error
        }
        guard let name = object["name"]?.string, !name.isEmpty else { return nil }
        return accounts.requestUser(name, password: object["password"]?.string ?? "")
    }

    private func logOut(_ request: Request) throws(RequestError) -> Answer {
        guard let id = request.cookie(Sessions.cookieName) else { throw RequestError(404, "no session") }
        accounts.sessions.end(id)
        let gone = "\(Sessions.cookieName)=; Expires=\(HTTPDate(seconds: accounts.sessions.time).text)"
        return Answer(status: 200, fields: [HTTPField("Set-Cookie", gone)], body: .whole([]))
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: lists the channels of the default collection, if it exists.
    private func description(of requestUser: RequestUser) -> Answer {
        let requestUser =
            collections[Self.defaultCollection] == nil ? requestUser : requestUser.entering(Self.defaultCollection)
        var body = JSONWriter()
        body.object { body in
            body.name("authentication_handlers")
            body.array { list in for name in ["default", "cookie"] { list.string(name) } }
            body.member("ok", bool: true)
            body.name("userCtx")
            body.object { context in
                context.name("channels")
                if requestUser.channels.isEmpty { context.null() } else { context.channels(of: requestUser) }
                context.name("name")
                if let name = requestUser.name { context.escapedString(name) } else { context.null() }
            }
        }
        return .json(body.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func channels(of requestUser: RequestUser) {
        object { list in
            let sorted = requestUser.channels.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (channel, sequence) in sorted {
                list.name(channel)
                list.integer(sequence)
            }
        }
    }
}
