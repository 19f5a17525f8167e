internal import GRDB
internal import Logging

/// Finds what a request asks for, and answers it. Knows no socket.
struct Router: Sendable {
    let database: String
    let store: Store
    let logger: Logger
    let started: Greeting

    /// Never throws: what goes wrong is an answer too.
    func answer(_ request: Request) async -> Answer {
        do { return try await route(request) } catch let fault as GatewayFault { return Answer(fault) } catch {
            // A client that went away takes its transaction with it; nobody reads the answer.
            if Task.isCancelled { return Answer(GatewayFault(503, "the request was cancelled")) }
            logger.error("request failed", metadata: ["method": "\(request.method)", "error": "\(error)"])
            return Answer(GatewayFault(500, "Internal error: the request could not be carried out"))
        }
    }

    private func route(_ request: Request) async throws -> Answer {
        guard let path = request.path else { throw GatewayFault(400, "invalid URL escape") }
        // SQLite's texts end at a NUL: no name may have one.
        guard !path.contains(where: { $0.utf8.contains(0) }) else { throw GatewayFault.invalidDocumentID }
        if path == [""] { return try root(request) }
        try admit(request, keyspace: path[0])
        if path.count == 1 { return Self.moved(to: "/\(path[0])/") }
        if path.count == 2, path[1].isEmpty { return try await databaseItself(request) }
        return try await keyspace(request, Array(path.dropFirst()))
    }

    private func root(_ request: Request) throws -> Answer {
        guard ["GET", "HEAD"].contains(request.method) else { throw GatewayFault.methodNotAllowed("GET, HEAD") }
        return started.answer()
    }

    /// GUEST is the only user, the keyspace `_default._default` the only one.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1 where GUEST is on: an unknown database is 401 without
    ///   `Www-Authenticate`, an unknown keyspace 404, credentials of nobody 401.
    private func admit(_ request: Request, keyspace: String) throws(GatewayFault) {
        let basic = request.field("Authorization")?.lowercased().hasPrefix("basic ") == true
        guard keyspace.prefix(while: { $0 != "." }) == database else {
            if request.method == "PUT" {
                throw GatewayFault(403, "Creating a DB over the public API is unsupported")
            }
            throw GatewayFault(401, basic ? "Invalid login" : "Login required")
        }
        if basic {
            let realm = HTTPField("Www-Authenticate", #"Basic realm="Couchbase Sync Gateway""#)
            throw GatewayFault(401, "Invalid login", headers: [realm])
        }
        guard [database, "\(database)._default", "\(database)._default._default"].contains(keyspace) else {
            throw GatewayFault(404, "keyspace \(keyspace) not found")
        }
    }

    private func databaseItself(_ request: Request) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return try await databaseInformation()
        case "POST": return try await postDocument(request)
        case "PUT": throw GatewayFault(412, "Database already exists")
        default: throw GatewayFault.methodNotAllowed("GET, HEAD, POST, PUT")
        }
    }

    private func keyspace(_ request: Request, _ path: [String]) async throws -> Answer {
        switch (path[0], path.count) {
        case ("_changes", 1): return try await changes(request)
        case ("_bulk_docs", 1): return try await bulkDocuments(request)
        case ("_bulk_get", 1): return try await bulkGet(request)
        case ("_revs_diff", 1): return try await revisionsDifference(request)
        case ("_all_docs", 1): return try await allDocuments(request)
        case ("_local", 2...): return try await localDocument(request, path.dropFirst().joined(separator: "/"))
        case (let name, _) where name.hasPrefix("_") || name.isEmpty: throw GatewayFault.unknownURL
        case (let id, 1): return try await document(request, id)
        default:
            let name = path.dropFirst().joined(separator: "/")
            guard !name.isEmpty else { throw GatewayFault.unknownURL }
            return try await attachment(request, path[0], name)
        }
    }

    /// - Note: Source: recorded, Go's `http.Redirect`.
    private static func moved(to path: String) -> Answer {
        Answer(
            status: 301,
            fields: [HTTPField("Content-Type", "text/html; charset=utf-8"), HTTPField("Location", path)],
            body: .whole(Array("<a href=\"\(path)\">Moved Permanently</a>.\n\n".utf8)))
    }
}
