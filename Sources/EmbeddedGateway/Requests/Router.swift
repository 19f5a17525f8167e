internal import GRDB
internal import HTTPServing
internal import Logging

/// Routes requests and answers them. Independent of sockets.
struct Router: Sendable {
    let database: String
    /// The collection of the request.
    var store: Store
    /// All collections, by `SCOPE.COLLECTION`.
    let collections: [String: Store]
    let logger: Logger
    let started: Greeting
    let accounts: Accounts
    /// Whether requests come through the administrative port.
    var isAdministration = false
    /// The user who makes the request.
    var requestUser = RequestUser.anonymous
    /// The injected faults.
    var faults = FaultInjection()
    /// Whether requests are logged.
    var logsRequests = false
    /// Further databases. Nil: there is only one.
    var hosted: HostedDatabases?
    /// Decides which documents of this request are refused.
    var refusedDocuments: RefusedDocuments?

    static let defaultCollection = "_default._default"

    /// - Parameter collections: Nil for only the default one.
    init(
        database: String, store: Store, collections: [String: Store]? = nil, logger: Logger, started: Greeting,
        accounts: Accounts? = nil
    ) {
        self.database = database
        self.store = store
        self.collections = collections ?? [Self.defaultCollection: store]
        self.logger = logger
        self.started = started
        self.accounts = accounts ?? Accounts(store)
    }

    /// Never throws: errors become answers.
    func answer(_ request: Request) async -> Answer {
        let began = ContinuousClock.now
        let answer = await recovered(request) { try await route(request) }
        if logsRequests {
            logger.debug(
                "request",
                metadata: [
                    "method": "\(request.method)", "path": "\(request.target)", "status": "\(answer.status)",
                    "seconds": "\((began.duration(to: .now) / .milliseconds(1)).rounded() / 1000)",
                    "bytes_in": "\(request.body.count)",
                ])
        }
        return answer
    }

    /// The answer that `make` returns, or the answer for the error that it throws.
    func recovered(_ request: Request, _ make: () async throws -> Answer) async -> Answer {
        do { return try await make() } catch let fault as RequestError { return Answer(fault) } catch {
            // When a client disconnects, its transaction is cancelled and this answer is not read.
            if Task.isCancelled { return Answer(RequestError(503, "the request was cancelled")) }
            logger.error("request failed", metadata: ["method": "\(request.method)", "error": "\(error)"])
            return Answer(RequestError(500, "Internal error: the request could not be carried out"))
        }
    }

    private func route(_ request: Request) async throws -> Answer {
        guard let path = request.path else { throw RequestError(400, "invalid URL escape") }
        // SQLite texts end at NUL, so no name may contain one.
        guard !path.contains(where: { $0.utf8.contains(0) }) else { throw RequestError.invalidDocumentID }
        if path == [""] { return try root(request) }
        if let answer = try await hosted?.answer(request, path, mainDatabase: database) { return answer }
        try checkDatabase(request, path[0])
        var router = self
        let isSession = path.count == 2 && path[1] == "_session"
        router.requestUser = isAdministration ? .administrator : try admitted(request, requiresLogin: !isSession)
        let isConfiguration = isAdministration && path.count == 2 && path[1] == "_config" && request.method == "GET"
        let isDatabase =
            path.count == 1 || isConfiguration || (path.count == 2 && path[1].isEmpty && request.method != "POST")
        if isDatabase || isSession {
            try checkName(path[0])
        } else {
            router = try router.entering(path[0])
        }
        if !isAdministration, let dueFaults = faults.dueFaults(for: request, path) {
            return try await router.answer(request, path, in: dueFaults)
        }
        return try await router.carriedOut(request, path).compressed(for: request)
    }

    /// The answer to an admitted request.
    func carriedOut(_ request: Request, _ path: [String]) async throws -> Answer {
        try await store.expireDue(asking: path.count > 1 ? path[1] : "")
        var answer = try await inDatabase(request.decompressed(), path)
        if let cookie = requestUser.cookie { answer.fields.append(cookie) }
        return answer
    }

    private func inDatabase(_ request: Request, _ path: [String]) async throws -> Answer {
        if path.count == 1 { return Self.moved(request, to: "/\(path[0])/") }
        if path.count == 2, path[1].isEmpty { return try await databaseItself(request) }
        return try await keyspace(request, Array(path.dropFirst()))
    }

    private func root(_ request: Request) throws -> Answer {
        guard ["GET", "HEAD"].contains(request.method) else { throw RequestError.methodNotAllowed("GET, HEAD") }
        return started.answer()
    }

    private func databaseItself(_ request: Request) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return try await databaseInformation()
        case "POST": return try await postDocument(request)
        case "PUT": throw RequestError(412, "Database already exists")
        default: throw RequestError.methodNotAllowed("GET, HEAD, POST, PUT")
        }
    }

    private func keyspace(_ request: Request, _ path: [String]) async throws -> Answer {
        if isAdministration, let answer = try await administration(request, path) { return answer }
        switch (path[0], path.count) {
        case ("_session", 1): return try await session(request)
        case ("_changes", 1): return try await changes(request)
        case ("_bulk_docs", 1): return try await bulkDocuments(request)
        case ("_bulk_get", 1): return try await bulkGet(request)
        case ("_revs_diff", 1): return try await revisionsDifference(request)
        case ("_all_docs", 1): return try await allDocuments(request)
        case ("_ensure_full_commit", 1): return try ensureFullCommit(request)
        case ("_local", 2...): return try await localDocument(request, path.dropFirst().joined(separator: "/"))
        case (let name, _) where name.hasPrefix("_") || name.isEmpty: throw RequestError.unknownURL
        case (let id, 1): return try await document(request, id)
        default:
            let name = path.dropFirst().joined(separator: "/")
            guard !name.isEmpty else { throw RequestError.unknownURL }
            return try await attachment(request, path[0], name)
        }
    }

    /// - Note: Source: recorded, and Go's `http.Redirect`: the query is kept; only GET and HEAD get a page.
    private static func moved(_ request: Request, to path: String) -> Answer {
        let query = request.target.drop { $0 != "?" }
        let location = HTTPField("Location", path + query)
        guard ["GET", "HEAD"].contains(request.method) else {
            return Answer(status: 301, fields: [location], body: .whole([]))
        }
        let page = "<a href=\"\(path)\(HTMLText.escaped(query))\">Moved Permanently</a>.\n\n"
        return Answer(
            status: 301, fields: [HTTPField("Content-Type", "text/html; charset=utf-8"), location],
            body: .whole(Array(page.utf8)))
    }
}

private enum HTMLText {
    /// - Note: Source: Go's `htmlEscape`, for client input that is repeated in a page.
    static func escaped(_ text: some StringProtocol) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&#34;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
    }
}
