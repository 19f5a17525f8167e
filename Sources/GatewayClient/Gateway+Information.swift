internal import Locking
internal import LosslessJSON

extension Gateway {
    /// Describes the database. A run sends this request first: it shows whether there is a gateway, whether it accepts
    /// this user, and which dialect it uses.
    ///
    /// - Throws: `.notFound` if there is no such database, `.unauthorized` if this user may not see it (Sync Gateway
    ///   gives the same answer for unknown databases), `.malformedAnswer` if this is not a gateway.
    /// - Note: Source: `GET /{db}/`. Collections have no such page, so the answer is about the whole database.
    public func databaseInfo() async throws(GatewayError) -> DatabaseInfo {
        let request = GatewayRequest(place: .database(""), deadline: settings.deadlines.small)
        let body = try await collect(request)
        guard let answer = SmallJSON(body), let info = DatabaseInfo(answer) else { throw .notJSON(body, from: url) }
        if !knowsDialect, let dialect = GatewayDialect(information: answer) { learn(dialect) }
        isPartitioned.withLock { $0 = info.isPartitioned }
        return info
    }

    /// Describes the server. Restricted and anonymous users may send this request too.
    ///
    /// - Throws: `.malformedAnswer` if this is not a gateway.
    /// - Note: Source: `GET /`.
    public func serverInfo() async throws(GatewayError) -> ServerInfo {
        let body = try await collect(GatewayRequest(place: .server(""), deadline: settings.deadlines.small))
        guard let answer = SmallJSON(body), let info = ServerInfo(answer) else { throw .notJSON(body, from: url) }
        if let dialect = info.dialect { learn(dialect) }
        return info
    }

    /// Creates the database unless it exists.
    ///
    /// - Returns: Whether it was created.
    /// - Throws: `.notOffered` on Sync Gateway if it is missing; `.unauthorized` or `.forbidden` if this user may not create
    ///   databases.
    /// - Note: Source: `PUT /{db}` of CouchDB. A database of Sync Gateway needs a configuration.
    public func createDatabase() async throws(GatewayError) -> Bool {
        guard try await findDialect() == .couchDB else {
            do throws(GatewayError) {
                _ = try await databaseInfo()
                return false
            } catch {
                guard error.code == .notFound || error.code == .unauthorized else { throw error }
                throw GatewayError(
                    .notOffered,
                    "\(url): the database is missing, or this user may not see it; a Sync Gateway database needs a "
                        + "configuration: create it with PUT on the admin port")
            }
        }
        do throws(GatewayError) {
            let request = GatewayRequest(method: "PUT", place: .database(""), deadline: settings.deadlines.small)
            _ = try await collect(request)
            return true
        } catch {
            // 412 `file_exists`
            guard error.cause == .databaseExists else { throw error }
            return false
        }
    }

    /// Whether this is the admin port of a Sync Gateway, which sees all documents: only the admin port lists databases.
    ///
    /// - Note: Source: `GET /_all_dbs`, part of the admin REST API only.
    package func isAdminPort() async -> Bool {
        let request = GatewayRequest(place: .server("_all_dbs"), deadline: settings.deadlines.small)
        return (try? await collect(request)) != nil
    }

    /// Asks the server for its kind, unless it is known from the settings or from a `Server` header. Returns
    /// ``GatewayDialect/syncGateway`` if the answer matches neither server.
    ///
    /// - Throws: `.malformedAnswer` if this is not a gateway, or if a proxy hides the server's root page; others as
    ///   for every request. A retry makes sense if ``GatewayError/isRetryable`` is true.
    /// - Note: Source: `GET /`. Both servers say `"couchdb":"Welcome"`; the vendor differs, and so do other members.
    public func findDialect() async throws(GatewayError) -> GatewayDialect {
        if knowsDialect { return dialect }
        let greeting = try await answer(GatewayRequest(place: .server(""), deadline: settings.deadlines.small))
        if let dialect = GatewayDialect(greeting: greeting) { learn(dialect) }
        return dialect
    }
}
