import GatewayClient
import HTTPTransport
import Locking
import LosslessJSON
import TestKit

/// The documents of one case: in a new database if this user may create one, or else in the named keyspace, with ids
/// that begin with a prefix. They are deleted afterwards.
final class Workspace: Sendable {
    let server: ConformanceServer
    let url: GatewayURL
    /// The prefix of this case's ids.
    let prefix: String
    /// The sequence when the case began, in the form for `since`.
    let start: String
    let ownsDatabase: Bool
    let gateway: Gateway
    /// The documents that the case has created.
    struct CreatedDocuments {
        var documents: [String] = []
        var locals: [String] = []
        /// The generations of the documents' last revisions.
        var generations: [String: Int] = [:]
    }

    let created = Locked(CreatedDocuments())

    /// The time limit for what a server does asynchronously. All cases run at once, on a machine that may be busy.
    static let timeLimit: Duration = .seconds(60)

    var kind: Kind { server.kind }

    /// Runs a case and cleans up, however it ended.
    static func with(_ body: (Workspace) async throws -> Void) async throws {
        let server = try await ConformanceServer.shared()
        guard server.kind != .embedded else { return try await run(on: server, body) }
        // Other suites empty the keyspace of a real server.
        try await SharedKeyspace.ofTests.together { try await run(on: server, body) }
    }

    private static func run(on server: ConformanceServer, _ body: (Workspace) async throws -> Void) async throws {
        let workspace = try await Workspace(on: server)
        do { try await body(workspace) } catch {
            await workspace.remove()
            throw error
        }
        await workspace.remove()
    }

    private init(on server: ConformanceServer) async throws {
        let name = (0..<4).map { _ in UInt8.random(in: .min ... .max) }.reduce("") {
            $0 + ($1 < 16 ? "0" : "") + String($1, radix: 16)
        }
        self.server = server
        prefix = "ct-\(name)-"
        if let database = try await Self.database(named: "changebot-test-\(name)", on: server) {
            (url, ownsDatabase, start) = (database, true, "0")
        } else {
            (url, ownsDatabase) = (server.url, false)
            start = try await Self.newestSequence(of: server)
        }
        gateway = server.client(on: url)
    }

    /// Creates a database; nil if that is impossible. Only administrators can create Sync Gateway databases.
    private static func database(named name: String, on server: ConformanceServer) async throws -> GatewayURL? {
        guard server.kind.isCouchDB else { return nil }
        let url = server.url.sibling(try KeyspaceName(name))
        let reply = try await server.send(
            HTTPRequest(method: "PUT", url: url.description, credentials: server.credentials))
        return (200..<300).contains(reply.status) ? url : nil
    }

    /// - Note: Only CouchDB has `since=now`, and it is unsuitable for a database with other writers.
    private static func newestSequence(of server: ConformanceServer) async throws -> String {
        let reply = try await server.send(
            HTTPRequest(url: server.databaseURL + "/", credentials: server.credentials))
        let sequence = reply["update_seq"]
        return sequence?.string ?? sequence.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "0"
    }
}

// MARK: - Names

extension Workspace {
    /// The id of a document of this case, which is removed afterwards.
    func id(_ name: String) -> String {
        let id = prefix + name
        note(id)
        return id
    }

    /// Adds a document with an id that the server generated.
    func note(_ id: String) { created.withLock { $0.documents.append(id) } }

    /// The name of a `_local` document of this case.
    func local(_ name: String) -> String {
        created.withLock { $0.locals.append(prefix + name) }
        return prefix + name
    }

    func isOwn(_ id: String) -> Bool { ownsDatabase || id.hasPrefix(prefix) }
}

// MARK: - Exchanges

extension Workspace {
    /// The path of a document below the keyspace.
    func path(_ id: String) -> String { "/" + id.percentEncoded }

    /// A request relative to the keyspace.
    func request(
        _ method: String, _ path: String, _ body: HTTPRequestBody = .none, headers: [(name: String, value: String)] = []
    ) -> HTTPRequest {
        var request = HTTPRequest(
            method: method, url: url.description + path, headers: headers, body: body,
            credentials: server.credentials, deadline: .seconds(120))
        func isGiven(_ name: String) -> Bool { headers.contains { $0.name.lowercased() == name.lowercased() } }
        if !isGiven("Accept") { request.headers.append(("Accept", "application/json")) }
        if body.count != nil, !isGiven("Content-Type") { request.headers.append(("Content-Type", "application/json")) }
        return request
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, headers: [(name: String, value: String)] = []
    ) async throws -> Reply {
        try await server.send(request(method, path, body.map { .bytes(Array($0.utf8)) } ?? .none, headers: headers))
    }

    func send(
        _ method: String, _ path: String, bytes: [UInt8], headers: [(name: String, value: String)] = []
    ) async throws -> Reply {
        try await server.send(request(method, path, .bytes(bytes), headers: headers))
    }

    /// Repeats a request until the answer is as expected, or the time is over: a write does not appear at once in Sync
    /// Gateway's feed or list of documents.
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, until isExpected: (Reply) -> Bool
    ) async throws -> Reply {
        let deadline = ContinuousClock.now + Self.timeLimit
        while true {
            let reply = try await send(method, path, body)
            if isExpected(reply) || ContinuousClock.now > deadline { return reply }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

// MARK: - Documents

extension Workspace {
    /// Writes a document and returns its revision.
    @discardableResult
    func put(_ id: String, _ body: String = "{}") async throws -> String {
        let reply = try await send("PUT", path(id), body)
        return try written(id, reply)
    }

    @discardableResult
    func delete(_ id: String, _ revision: String) async throws -> String {
        let reply = try await send("DELETE", "\(path(id))?rev=\(revision)")
        return try written(id, reply)
    }

    private func written(_ id: String, _ reply: Reply) throws -> String {
        guard let revision = reply["rev"]?.string else { throw Unexpected(reply) }
        created.withLock { $0.generations[id] = revision.generation }
        return revision
    }

    /// Removes the documents of the case, as far as possible. Tombstones stay in a shared database.
    fileprivate func remove() async {
        do {
            if ownsDatabase {
                _ = try await send("DELETE", "")
            } else {
                try await deleteDocuments()
                try await deleteLocalDocuments()
            }
        } catch {}
        await gateway.shutdown()
    }

    private func deleteDocuments() async throws {
        // Not as strings: two ids may be canonically equivalent.
        let ids = Set(created.withLock(\.documents).map { DocumentID($0) })
        guard !ids.isEmpty else { return }
        let keys = "{\"keys\":[\(ids.map(\.text.json).joined(separator: ","))]}"
        let tombstones = try await send("POST", "/_all_docs", keys).elements("rows").compactMap { row -> String? in
            guard let id = row["id"]?.string, let revision = row["value"]?["rev"]?.string else { return nil }
            return "{\"_id\":\(id.json),\"_rev\":\(revision.json),\"_deleted\":true}"
        }
        if !tombstones.isEmpty {
            _ = try await send("POST", "/_bulk_docs", "{\"docs\":[\(tombstones.joined(separator: ","))]}")
        }
    }

    private func deleteLocalDocuments() async throws {
        for name in created.withLock(\.locals) {
            let path = "/_local/" + name.percentEncoded
            guard let revision = try await send("GET", path)["_rev"]?.string else { continue }
            _ = try await send("DELETE", "\(path)?rev=\(revision)")
        }
    }
}

/// An answer with which a case can't continue.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ reply: Reply) { description = "unexpected answer \(reply.status): \(reply.text.prefix(300))" }
}
