internal import LosslessJSON

extension Gateway {
    /// The most bytes of a list of databases: about 300,000 names.
    private static let maxListBytes = 32 << 20
    /// The most rows of one answer about updated databases, so that it stays small.
    private static let maxUpdates = 500

    /// The names of all databases, as the server lists them.
    ///
    /// - Throws: `.unauthorized` or `.forbidden` if this user may not list databases: CouchDB lists them only to
    ///   administrators unless `[chttpd] admin_only_all_dbs` is `false`. `.notFound` on Sync Gateway's public port.
    /// - Note: Source: `GET /_all_dbs` of CouchDB, and of Sync Gateway's admin port.
    package func databaseNames() async throws(GatewayError) -> [String] {
        let request = GatewayRequest(place: .server("_all_dbs"), deadline: settings.deadlines.bulk)
        let body = try await collect(request, limit: Self.maxListBytes)
        guard let names = SmallJSON(body)?.elements else { throw .notJSON(body, from: url) }
        return names.compactMap(\.string)
    }

    /// The databases that were created, changed or deleted after a sequence of the server.
    ///
    /// - Parameters:
    ///   - since: The `last` of an earlier answer; nil: only the server's newest sequence is returned.
    ///   - timeout: How long to wait for the first update.
    /// - Throws: `.unauthorized` or `.forbidden` if this user is not an administrator; `.notFound` if the server does
    ///   not record updates: Sync Gateway, or a CouchDB without the database `_global_changes`.
    /// - Note: Source: `GET /_db_updates` of CouchDB 3.5.
    package func databaseUpdates(
        since: SequenceID?, timeout: Duration = ChangesRequest.defaultLongpollTimeout
    ) async throws(GatewayError) -> DatabaseUpdates {
        var request = GatewayRequest(
            place: .server("_db_updates"), query: [("since", since?.queryValue ?? "now")],
            deadline: settings.deadlines.small)
        if since != nil {
            request.query += [
                ("feed", "longpoll"), ("timeout", "\(timeout / .milliseconds(1))".prefix { $0 != "." }.description),
                ("limit", "\(Self.maxUpdates)"),
            ]
            request.deadline = timeout + settings.deadlines.longpollGrace
            request.silence = request.deadline
            request.mayAnswerLate = true
        }
        let body = try await collect(request)
        guard let answer = SmallJSON(body), let updates = DatabaseUpdates(answer) else {
            throw .notJSON(body, from: url)
        }
        return updates
    }

    /// The most databases of one ``databaseInfos(of:)``.
    ///
    /// - Note: Source: `[chttpd] max_db_number_for_dbs_info_req` of CouchDB.
    package static let maxDatabasesOfRequest = 100

    /// What the server tells of each of these databases. Missing databases are left out.
    ///
    /// - Parameter names: At most ``maxDatabasesOfRequest``.
    /// - Throws: `.notFound` or `.badRequest` on a server without this request, such as Sync Gateway.
    /// - Note: Source: `POST /_dbs_info` of CouchDB 2.2 and later.
    package func databaseInfos(of names: [String]) async throws(GatewayError) -> [String: DatabaseInfo] {
        var body = JSONWriter()
        body.object { body in
            body.name("keys")
            body.array { keys in for name in names { keys.string(name) } }
        }
        let request = GatewayRequest(
            method: "POST", place: .server("_dbs_info"), body: .json(body.bytes), deadline: settings.deadlines.small)
        let answer = try await collect(request, limit: Self.maxListBytes)
        guard let rows = SmallJSON(answer)?.elements else { throw .notJSON(answer, from: url) }
        var infos: [String: DatabaseInfo] = [:]
        for row in rows {
            if let name = row["key"]?.string { infos[name] = row["info"].flatMap(DatabaseInfo.init) }
        }
        return infos
    }
}

/// The content of one answer to `GET /_db_updates`.
package struct DatabaseUpdates: Sendable {
    /// One update of a database.
    package struct Row: Sendable, Equatable {
        /// The database's name.
        package let database: String
        /// Whether the database was deleted. It may have been created again.
        package let isDeletion: Bool
    }

    /// In the order of the server.
    package let rows: [Row]
    /// Where the next request continues.
    package let last: SequenceID

    /// Nil if `answer` is not an answer to `_db_updates`.
    init?(_ answer: SmallJSON) {
        guard let results = answer["results"]?.elements, let last = answer["last_seq"]?.sequence else { return nil }
        rows = results.compactMap { row in
            row["db_name"]?.string.map { Row(database: $0, isDeletion: row["type"]?.string == "deleted") }
        }
        self.last = last
    }
}

extension SmallJSON {
    /// A sequence: a number, or a string as on CouchDB.
    fileprivate var sequence: SequenceID? {
        switch self {
        case .number(let text), .string(let text): SequenceID(text)
        default: nil
        }
    }
}
