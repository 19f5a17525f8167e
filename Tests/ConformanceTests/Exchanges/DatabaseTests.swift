import GatewayClient
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// The server's greeting, and the information about the database.
@Suite(.limitedParallelism) struct DatabaseTests {
    @Test func serverIdentifiesItself() async throws {
        let server = try await ConformanceServer.shared()
        let reply = try await server.send(HTTPRequest(url: "\(server.url.base)/"))
        #expect(reply.status == 200)
        #expect(reply["couchdb"]?.string == "Welcome")
        #expect(reply["vendor"]?["name"]?.string == KnownDifferences.vendor[server.kind])
        #expect(reply.headers["Server"]?.hasPrefix(KnownDifferences.serverHeader[server.kind]) == true)
    }

    @Test func databaseDescribesItself() async throws {
        try await Workspace.with { workspace in
            let kind = workspace.kind
            let reply = try await workspace.describe("/")
            #expect(reply.status == 200)
            #expect(reply.contentType.hasPrefix("application/json"))
            #expect(reply["db_name"]?.string == workspace.url.keyspace.database)
            let form: JSONKind = KnownDifferences.sequenceOfDatabaseIsNumber[kind] ? .number : .string
            #expect(reply["update_seq"]?.kind == form)
            #expect(reply["instance_start_time"]?.kind == form)
            #expect(reply["state"]?.string == KnownDifferences.databaseState[kind])
            #expect((reply["doc_count"] != nil) == KnownDifferences.countsDocuments[kind])
            #expect(reply["compact_running"]?.kind == .false)
        }
    }

    @Test func writeMovesTheNewestSequence() async throws {
        try await Workspace.with { workspace in
            let before = try await workspace.describe("/")["update_seq"]?.spelling
            try await workspace.put(workspace.id("doc"))
            let after = try await workspace.describe("/")["update_seq"]?.spelling
            #expect(before != nil && after != nil && after != before)
        }
    }

    @Test func pathWithoutASlashRedirects() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.describe("")
            #expect(reply.status == KnownDifferences.databaseWithoutSlash[workspace.kind].status)
            if reply.status == 301 {
                let path = "/\(workspace.url.keyspace.database)/"
                #expect(reply.headers["Location"]?.hasSuffix(path) == true)
            }
        }
    }

    @Test func unknownDatabaseIsRefused() async throws {
        let server = try await ConformanceServer.shared()
        let reply = try await server.send(
            HTTPRequest(url: "\(server.url.base)/changebot-no-database/", credentials: server.credentials))
        if server.isAdministration {
            #expect(reply.status == 404)
        } else {
            let expected = KnownDifferences.unknownDatabase[server.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }

    @Test(.servers("the administrator's port takes a configuration here") { !$0.isAdministration })
    func existingDatabaseIsNotCreatedAgain() async throws {
        try await Workspace.with { workspace in
            let server = workspace.server
            guard !server.kind.isCouchDB || workspace.ownsDatabase else {
                try Test.cancel("CouchDB refuses users that may not make databases before it looks")
            }
            let url = "\(workspace.url.base)/\(workspace.url.keyspace.database)/"
            let reply = try await server.send(HTTPRequest(method: "PUT", url: url, credentials: server.credentials))
            let expected = KnownDifferences.existingDatabase[server.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }

    @Test(.serversThatCheckPasswords) func wrongPasswordIsRefused() async throws {
        let server = try await ConformanceServer.shared()
        let stranger = HTTPCredentials.basic(user: "changebot-nobody", password: "wrong")
        let reply = try await server.send(HTTPRequest(url: server.databaseURL + "/", credentials: stranger))
        let expected = KnownDifferences.invalidLogin[server.kind]
        #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
    }
}

extension Workspace {
    /// Requests the information about the database; there is none for a collection.
    fileprivate func describe(_ path: String) async throws -> Reply {
        let database = "\(url.base)/\(url.keyspace.database)"
        return try await server.send(HTTPRequest(url: database + path, credentials: server.credentials))
    }
}
