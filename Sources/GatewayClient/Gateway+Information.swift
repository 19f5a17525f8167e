internal import LosslessJSON

extension Gateway {
    /// Describes the database. The first request of a run: it shows whether there is a gateway, whether it lets this
    /// user in, and which dialect it speaks.
    ///
    /// - Throws: `.notFound` if there is no such database, `.unauthorized` if this user may not see it (Sync Gateway
    ///   answers so for unknown databases too), `.malformedAnswer` if this is no gateway.
    /// - Note: Source: `GET /{db}/`; a collection has no such page, so the database is asked.
    public func databaseInfo() async throws(GatewayError) -> DatabaseInfo {
        let request = GatewayRequest(place: .database(""), deadline: settings.deadlines.small)
        let body = try await collect(request)
        guard let answer = SmallJSON(body), let info = DatabaseInfo(answer) else { throw .notJSON(body, from: url) }
        return info
    }

    /// Describes the server. Restricted users, and nobody, may ask it too.
    ///
    /// - Throws: `.malformedAnswer` if this is no gateway.
    /// - Note: Source: `GET /`.
    public func serverInfo() async throws(GatewayError) -> ServerInfo {
        let body = try await collect(GatewayRequest(place: .server(""), deadline: settings.deadlines.small))
        guard let answer = SmallJSON(body), let info = ServerInfo(answer) else { throw .notJSON(body, from: url) }
        if let dialect = info.dialect { learn(dialect) }
        return info
    }

    /// Asks the server who it is, unless an answer's `Server` header or the settings have told already.
    ///
    /// - Note: Source: `GET /`; both say `"couchdb":"Welcome"`, the vendor tells them apart.
    public func findDialect() async throws(GatewayError) -> GatewayDialect {
        if knowsDialect { return dialect }
        let greeting = try await answer(GatewayRequest(place: .server(""), deadline: settings.deadlines.small))
        if let dialect = GatewayDialect(vendor: greeting["vendor"]?["name"]?.string) { learn(dialect) }
        return dialect
    }
}
