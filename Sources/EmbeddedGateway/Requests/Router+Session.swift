internal import Encodings
internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/_session`: the current user, login and logout.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func session(_ request: Request) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return description(of: visitor)
        case "POST": return try logIn(request)
        case "DELETE": return try logOut(request)
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, POST")
        }
    }

    /// Logs in with the name and password in the body, or as the user of the request's header fields.
    private func logIn(_ request: Request) throws -> Answer {
        let user = try named(request) ?? (visitor.name == nil ? nil : visitor)
        guard let user, let name = user.name else { throw RequestError(401, "Invalid login") }
        let (id, expires) = accounts.sessions.begin(for: name)
        var answer = description(of: user)
        answer.fields.append(.sessionCookie(id, path: "/\(database)", expires: expires))
        return answer
    }

    private func named(_ request: Request) throws(RequestError) -> Visitor? {
        let object: JSONValue
        do { object = try request.object() } catch {
            if visitor.name != nil { return nil }
            throw error
        }
        guard let name = object["name"]?.string, !name.isEmpty else { return nil }
        return accounts.visitor(name, password: object["password"]?.string ?? "")
    }

    private func logOut(_ request: Request) throws(RequestError) -> Answer {
        guard let id = request.cookie(Sessions.cookieName) else { throw RequestError(404, "no session") }
        accounts.sessions.end(id)
        let gone = "\(Sessions.cookieName)=; Expires=\(HTTPDate(seconds: accounts.sessions.time).text)"
        return Answer(status: 200, fields: [HTTPField("Set-Cookie", gone)], body: .whole([]))
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: lists the channels of the default collection, if it exists.
    private func description(of visitor: Visitor) -> Answer {
        let visitor = collections[Self.defaultCollection] == nil ? visitor : visitor.entering(Self.defaultCollection)
        var body = JSONWriter()
        body.object { body in
            body.name("authentication_handlers")
            body.array { list in for name in ["default", "cookie"] { list.string(name) } }
            body.member("ok", bool: true)
            body.name("userCtx")
            body.object { context in
                context.name("channels")
                if visitor.channels.isEmpty { context.null() } else { context.channels(of: visitor) }
                context.name("name")
                if let name = visitor.name { context.escapedString(name) } else { context.null() }
            }
        }
        return .json(body.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func channels(of visitor: Visitor) {
        object { list in
            let sorted = visitor.channels.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (channel, sequence) in sorted {
                list.name(channel)
                list.integer(sequence)
            }
        }
    }
}
