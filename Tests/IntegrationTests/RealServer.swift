import Foundation
import GatewayClient
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// The server that `CHANGEBOT_TEST_GATEWAY` names: the URL of a keyspace that only tests use.
///
/// `CHANGEBOT_TEST_GATEWAY_USER` and `_PASSWORD` are the credentials; `_KIND` is `sync-gateway` or `couchdb`, if the
/// server does not report it. If this user may create databases, as on CouchDB, each test has its own. Otherwise the
/// keyspace is emptied for each test, and tests run one after the other.
struct RealServer {
    let url: GatewayURL
    let settings: GatewaySettings

    static func fromEnvironment() throws -> RealServer? {
        let environment = ProcessInfo.processInfo.environment
        guard let address = environment["CHANGEBOT_TEST_GATEWAY"], !address.isEmpty else { return nil }
        var settings = GatewaySettings()
        settings.dialect = environment["CHANGEBOT_TEST_GATEWAY_KIND"].flatMap(GatewayDialect.init(rawValue:))
        if let user = environment["CHANGEBOT_TEST_GATEWAY_USER"] {
            let password = environment["CHANGEBOT_TEST_GATEWAY_PASSWORD"] ?? ""
            settings.credentials = .basic(user: user, password: password)
        }
        return RealServer(url: try GatewayURL(address), settings: settings)
    }

    /// Whether the environment names a CouchDB. Asks the server for its kind if the environment does not contain it.
    static func isCouchDB() async throws -> Bool {
        guard let server = try fromEnvironment() else { return false }
        let gateway = Gateway(server.url, settings: server.settings)
        let dialect: Result<GatewayDialect, GatewayError>
        do { dialect = .success(try await gateway.findDialect()) } catch { dialect = .failure(error) }
        await gateway.shutdown()
        return try dialect.get() == .couchDB
    }

    /// An empty keyspace for one test.
    func withKeyspace(_ body: (GatewayURL) async throws -> Void) async throws {
        if try await withDatabase(body) { return }
        try await SharedKeyspace.ofTests.alone {
            try await empty()
            try await body(url)
        }
    }

    /// Creates a database for one test, and deletes it afterwards. Returns false if this user may not create databases.
    ///
    /// - Note: Source: `PUT /{db}/` of CouchDB 3.5, which ignores the body, and of the administrator's port of Sync
    ///   Gateway 3.3.7 and 4.1.1, which also creates the bucket if it keeps its data in memory.
    func withDatabase(_ body: (GatewayURL) async throws -> Void) async throws -> Bool {
        let name = "changebot-test-\(UUID().uuidString.lowercased())"
        let collection = url.keyspace.pathSegment.split(separator: ".").dropFirst()
        let own = url.sibling(try KeyspaceName(([name[...]] + collection).joined(separator: ".")))
        let database = "\(url.base)/\(name)/"
        let configuration = Self.configuration(bucket: name, collection: Array(collection))
        guard try await ask("PUT", database, body: .bytes(Array(configuration.utf8))) == 201 else { return false }
        do { try await body(own) } catch {
            try await delete(name)
            throw error
        }
        try await delete(name)
        return true
    }

    /// Also deletes the bucket if Sync Gateway 4.1.1 keeps it in memory. Other versions have no such request.
    private func delete(_ database: String) async throws {
        _ = try await ask("DELETE", "\(url.base)/\(database)/")
        _ = try await ask("DELETE", "\(url.base)/_rosmar/\(database)")
    }

    /// The configuration of a Sync Gateway database. A named collection gets the sync function that the default collection
    /// has anyway: without one, all its documents are in a channel of its name.
    private static func configuration(bucket: String, collection: [Substring]) -> String {
        var scopes = ""
        if collection.count == 2 {
            let sync = #"{"sync":"function (doc) { channel(doc.channels); }"}"#
            scopes = #","scopes":{"\#(collection[0])":{"collections":{"\#(collection[1])":\#(sync)}}}"#
        }
        return """
            {"bucket":"\(bucket)","num_index_replicas":0,"enable_shared_bucket_access":true,"import_docs":true\(scopes)}
            """
    }

    /// Adds members to the configuration of a database.
    ///
    /// - Returns: False if the server is not a Sync Gateway, or this user is not an administrator.
    /// - Note: Source: `POST /{db}/_config` of Sync Gateway 3.3.7 and 4.1.1.
    func configure(_ url: GatewayURL, _ members: String) async throws -> Bool {
        let database = url.keyspace.pathSegment.split(separator: ".").first ?? ""
        return try await ask("POST", "\(url.base)/\(database)/_config", body: .bytes(Array(members.utf8))) == 201
    }

    /// Starts a compaction, which removes old revisions; CouchDB also starts it by itself.
    ///
    /// - Note: Source: `POST /{db}/_compact` of CouchDB 3.5.
    func compact(_ url: GatewayURL) async throws {
        let status = try await ask("POST", "\(url)/_compact")
        #expect(status == 202)
    }

    private func ask(_ method: String, _ url: String, body: HTTPRequestBody = .none) async throws -> Int {
        let client = HTTPClient()
        var credentials: HTTPCredentials?
        if case .basic(let user, let password) = settings.credentials {
            credentials = .basic(user: user, password: password)
        }
        let response = try await client.send(
            HTTPRequest(
                method: method, url: url, headers: [("Content-Type", "application/json")], body: body,
                credentials: credentials, deadline: .seconds(60)))
        _ = try await response.body.collect(upTo: 1 << 16)
        await client.shutdown()
        return response.status
    }

    /// Deletes every document, and the marks of the tests' bots.
    private func empty() async throws {
        let gateway = Gateway(url, settings: settings)
        var tombstones: [BulkDocument] = []
        var answer = try await gateway.changes(ChangesRequest(includesDocuments: true))
        while let batch = try await answer.next() {
            for change in batch where change.kind == .document {
                guard let id = change.document?["_id"], let revision = change.document?["_rev"] else { continue }
                let body =
                    Array(#"{"_deleted":true,"_id":"#.utf8) + id.bytes + Array(#","_rev":"#.utf8) + revision.bytes
                tombstones.append(BulkDocument(id: change.id, segments: [body, Array("}".utf8)]))
            }
        }
        for start in stride(from: 0, to: tombstones.count, by: 500) {
            _ = try await gateway.bulkDocs(Array(tombstones[start..<min(start + 500, tombstones.count)]))
        }
        for name in ["changebot.changebot", "changebot.bot0", "changebot.bot1"] {
            let mark = try await gateway.localDocument(name)
            if let revision = mark?.revision {
                try await gateway.saveLocalDocument(name, body: Array("{}".utf8), revision: revision)
            }
        }
        await gateway.shutdown()
    }
}
