internal import Encodings
internal import HTTPServing

extension Router {
    /// - Note: Source: recorded, Sync Gateway 4.1.1: an unknown database gives 401 without `Www-Authenticate`.
    func checkDatabase(_ request: Request, _ keyspace: String) throws(RequestError) {
        guard keyspace.prefix(while: { $0 != "." }) != database else { return }
        guard !isAdministration else { throw RequestError(404, "no such database \"\(keyspace)\"") }
        guard request.method != "PUT" else {
            throw RequestError(403, "Creating a DB over the public API is unsupported")
        }
        throw RequestError(401, request.credentials == nil ? "Login required" : "Invalid login")
    }

    /// Requests about the database must not name a collection.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func checkName(_ name: String) throws(RequestError) {
        guard name == database else { throw RequestError(400, "invalid database name \"\(name)\"") }
    }

    /// The router for the collection that a keyspace names: `DB`, `DB.COLLECTION` or `DB.SCOPE.COLLECTION`.
    ///
    /// - Throws: ``RequestError`` 404.
    func entering(_ keyspace: String) throws(RequestError) -> Router {
        let parts = keyspace.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
        let name =
            switch parts.count {
            case 0: Self.defaultCollection
            case 1: "_default.\(parts[1])"
            default: parts.joined(separator: ".")
            }
        guard let collection = collections[name] else { throw RequestError(404, "keyspace \(keyspace) not found") }
        var router = self
        router.store = collection
        router.requestUser = requestUser.entering(name)
        return router
    }

    /// Identifies the user: by name and password, by cookie, or as GUEST.
    ///
    /// - Parameter requiresLogin: Whether an anonymous request is refused.
    /// - Throws: ``RequestError`` 401.
    /// - Note: Source: recorded, Sync Gateway 4.1.1; `setUserForPublicAuth` for the order.
    func admitted(_ request: Request, requiresLogin: Bool) throws(RequestError) -> RequestUser {
        if let (name, password) = request.credentials, !name.isEmpty {
            guard let requestUser = accounts.requestUser(name, password: password) else {
                throw RequestError(401, "Invalid login", headers: [.basicRealm])
            }
            return requestUser
        }
        if let id = request.cookie(Sessions.cookieName) {
            if let requestUser = requestUser(session: id) { return requestUser }
            if requiresLogin { throw RequestError(401, "Session Invalid") }
        }
        if let guest = accounts.guest { return guest }
        guard !requiresLogin else { throw RequestError(401, "Login required", headers: [.basicRealm]) }
        return .anonymous
    }

    private func requestUser(session id: String) -> RequestUser? {
        guard let (user, renewedUntil) = accounts.sessions.use(id), var requestUser = accounts.requestUser(user) else {
            return nil
        }
        requestUser.cookie = renewedUntil.map { .sessionCookie(id, path: "/\(database)", expires: $0) }
        return requestUser
    }
}

extension Request {
    /// Name and password of `Authorization: Basic`. Nil if it is missing or not valid.
    ///
    /// - Note: Source: RFC 7617, section 2.
    var credentials: (name: String, password: String)? {
        guard let field = field("Authorization"), field.prefix(6).lowercased() == "basic ",
            let bytes = try? Base64.decode(Array(field.dropFirst(6).utf8)),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (
            String(decoding: bytes[..<colon], as: UTF8.self), String(decoding: bytes[(colon + 1)...], as: UTF8.self)
        )
    }

    /// The value of a cookie.
    func cookie(_ name: String) -> String? {
        for pair in (field("Cookie") ?? "").split(separator: ";") {
            let trimmed = pair.drop { $0 == " " }
            if trimmed.hasPrefix("\(name)=") { return String(trimmed.dropFirst(name.count + 1)) }
        }
        return nil
    }
}

extension HTTPField {
    static let basicRealm = HTTPField("Www-Authenticate", #"Basic realm="Couchbase Sync Gateway""#)

    /// - Parameter expires: Seconds since 1970.
    static func sessionCookie(_ id: String, path: String, expires: Int) -> HTTPField {
        HTTPField(
            "Set-Cookie", "\(Sessions.cookieName)=\(id); Path=\(path); Expires=\(HTTPDate(seconds: expires).text)")
    }
}
