internal import LosslessJSON

/// What `GET /DATABASE/` tells.
public struct DatabaseInfo: Sendable {
    public let name: String
    /// The feed's newest sequence: a number on Sync Gateway (0 while it is not online), opaque on CouchDB.
    public let updateSequence: SequenceID?
    /// Live documents; nil on Sync Gateway, which does not tell.
    public let documentCount: Int?
    /// Sync Gateway: `Online`, `Offline`, `Starting` …; nil on CouchDB.
    public let state: String?
    /// Since when there is this database; another one if it was deleted and made again, on Sync Gateway also after it was
    /// offline. Opaque. Restricted users see it too.
    public let instance: String?

    /// ``updateSequence`` where it can be relied on: Sync Gateway says 0 while it is not online.
    public var newestSequence: SequenceID? {
        isOnline && updateSequence?.syncGatewayNumber != 0 ? updateSequence : nil
    }

    public var isOnline: Bool { state == nil || state == "Online" }
}

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
        guard let answer = SmallJSON(body), let name = answer["db_name"]?.string else {
            throw .notJSON(body, from: url)
        }
        let sequence: SequenceID? =
            switch answer["update_seq"] {
            case .number(let text), .string(let text): SequenceID(text)
            default: nil
            }
        let instance: String? =
            switch answer["instance_start_time"] {
            case .number(let text), .string(let text): text
            default: nil
            }
        return DatabaseInfo(
            name: name, updateSequence: sequence, documentCount: answer["doc_count"]?.integer,
            state: answer["state"]?.string, instance: instance)
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
