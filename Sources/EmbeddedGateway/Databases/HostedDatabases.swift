internal import HTTPServing
internal import Locking
internal import Logging
internal import LosslessJSON

/// Further databases of a gateway, in memory, which clients create and delete, and the announcements of their changes.
///
/// - Note: Source: `PUT` and `DELETE /{db}`, `_all_dbs`, `_dbs_info` and `_db_updates` of CouchDB 3.5. All other answers
///   are those of Sync Gateway.
final class HostedDatabases: Sendable {
    /// An announced change of a database. Of each kind, only the last one of a database is kept.
    private struct Update: Hashable {
        let database: String
        let kind: String
    }

    private struct State {
        var routers: [String: Router] = [:]
        var updates: [Update: Int] = [:]
        /// Databases that refuse all requests, and their statuses.
        var refused: [String: Int] = [:]
        var announces = true
        /// The number of requests, by the first segment of their paths.
        var requests: [String: Int] = [:]
    }

    private let state = Locked(State())
    private let signal = ChangeSignal(lastSequence: 0)
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// The number of requests, by the first segment of their paths.
    var requestCounts: [String: Int] { state.withLock(\.requests) }

    /// Refuses all requests to a database. Nil: it answers again.
    func refuse(_ database: String, status: Int?) { state.withLock { $0.refused[database] = status } }

    /// Whether `_db_updates` is answered.
    func announce(_ isOn: Bool) { state.withLock { $0.announces = isOn } }

    func close() { signal.endFeeds() }

    /// The answer to a request about the server or one of these databases. Nil for other requests.
    func answer(_ request: Request, _ path: [String], mainDatabase: String) async throws -> Answer? {
        let name = path[0]
        state.withLock { $0.requests[name, default: 0] += 1 }
        switch (name, path.count) {
        case ("_all_dbs", 1): return list(adding: mainDatabase)
        case ("_dbs_info", 1): return try informations(request)
        case ("_db_updates", 1): return try await updates(request)
        default: break
        }
        guard !name.hasPrefix("_"), name.prefix(while: { $0 != "." }) != mainDatabase else { return nil }
        if let status = state.withLock({ $0.refused[name] }) {
            throw RequestError(status, "this database refuses all requests")
        }
        let isDatabase = path.count == 1 || path.count == 2 && path[1].isEmpty
        if isDatabase, request.method == "PUT" { return try create(name) }
        guard let router = state.withLock({ $0.routers[name] }) else {
            throw RequestError(404, "no such database \"\(name)\"")
        }
        if isDatabase, request.method == "DELETE" { return delete(name, router) }
        return await router.answer(request)
    }

    @discardableResult
    func create(_ name: String) throws -> Answer {
        guard EmbeddedGateway.isDatabaseName(name) else {
            throw RequestError(400, "invalid database name \"\(name)\"")
        }
        guard state.withLock({ $0.routers[name] == nil }) else { throw RequestError(412, "Database already exists") }
        let store = try Store(.memory)
        store.signal.observer.withLock { $0 = { [weak self] in self?.note("updated", name) } }
        let router = Router(database: name, store: store, logger: logger, started: Greeting())
        let isNew = state.withLock { state in
            guard state.routers[name] == nil else { return false }
            state.routers[name] = router
            return true
        }
        guard isNew else { throw RequestError(412, "Database already exists") }
        note("created", name)
        return .json(Array(#"{"ok":true}"#.utf8), status: 201)
    }

    private func delete(_ name: String, _ router: Router) -> Answer {
        state.withLock { $0.routers[name] = nil }
        note("deleted", name)
        router.store.signal.observer.withLock { $0 = nil }
        router.store.signal.endFeeds()
        return .json(Array(#"{"ok":true}"#.utf8))
    }

    private func list(adding mainDatabase: String) -> Answer {
        var body = JSONWriter()
        body.array { names in
            for name in (state.withLock { Array($0.routers.keys) } + [mainDatabase]).sorted() { names.string(name) }
        }
        return .json(body.bytes)
    }

    // MARK: - Announcements

    private func note(_ kind: String, _ name: String) {
        let sequence = state.withLock { state in
            let next = (state.updates.values.max() ?? 0) + 1
            state.updates[Update(database: name, kind: kind)] = next
            return next
        }
        signal.advance(to: sequence)
    }

    private func informations(_ request: Request) throws -> Answer {
        guard request.method == "POST" else { throw RequestError.methodNotAllowed("POST") }
        let names = try request.object()["keys"]?.elements.compactMap(\.string) ?? []
        guard names.count <= 100 else { throw RequestError(400, "`keys` member must have at most 100 names") }
        var body = JSONWriter()
        try body.array { rows in
            for name in names {
                let (router, isRefused) = state.withLock { ($0.routers[name], $0.refused[name] != nil) }
                try rows.object { row in
                    row.member("key", string: name)
                    guard let router, !isRefused else { return row.member("error", string: "not_found") }
                    row.name("info")
                    try row.object { info in
                        info.member("db_name", string: name)
                        info.member("update_seq", integer: try router.store.lastSequence())
                        info.member("instance_start_time", string: "\(router.started.time)")
                    }
                }
            }
        }
        return .json(body.bytes)
    }

    private func updates(_ request: Request) async throws -> Answer {
        guard state.withLock(\.announces) else { throw RequestError(404, "Database does not exist.") }
        let query = request.query
        var since = signal.lastSequence
        if let text = query["since"], text != "now" { since = Int(text) ?? 0 }
        if query["feed"] == "longpoll" {
            let timeout = query["timeout"].flatMap { Int($0) } ?? 60_000
            _ = try await signal.wait(past: since, until: .now + .milliseconds(timeout))
        }
        let limit = query["limit"].flatMap { Int($0) } ?? .max
        let rows = state.withLock { $0.updates.filter { $0.value > since } }.sorted { $0.value < $1.value }.prefix(
            limit)
        var body = JSONWriter()
        body.object { body in
            body.name("results")
            body.array { results in
                for (update, sequence) in rows {
                    results.object { row in
                        row.member("db_name", string: update.database)
                        row.member("type", string: update.kind)
                        row.member("seq", string: "\(sequence)")
                    }
                }
            }
            body.member("last_seq", string: "\(rows.last?.value ?? since)")
        }
        return .json(body.bytes)
    }
}

extension EmbeddedGateway {
    /// Creates a further database, as `PUT /NAME` does.
    ///
    /// - Throws: An error if the gateway is not running, or the name is taken or not valid.
    package func createDatabase(_ name: String) throws {
        guard let hosted else { throw RequestError(503, "the gateway is not running, or has one database") }
        try hosted.create(name)
    }

    /// Makes a further database refuse all requests with this status. Nil: it answers again.
    package func refuse(_ database: String, status: Int?) { hosted?.refuse(database, status: status) }

    /// Whether the gateway announces changes of its databases.
    package func announceUpdates(_ isOn: Bool) { hosted?.announce(isOn) }

    /// The number of requests so far, by the first segment of their paths: databases, `_db_updates` and so on.
    package var requestCounts: [String: Int] { hosted?.requestCounts ?? [:] }
}
