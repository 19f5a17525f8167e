import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Single documents and the database, as the client returns them.
@Suite(.limitedParallelism) struct ClientDocumentTests {
    @Test func clientRecognizesTheServer() async throws {
        try await Workspace.with { workspace in
            let expected: GatewayDialect = workspace.kind.isCouchDB ? .couchDB : .syncGateway
            let found = try await workspace.gateway.findDialect()
            #expect(found == expected)
        }
    }

    @Test func databaseDescribesItself() async throws {
        try await Workspace.with { workspace in
            let before = try await workspace.gateway.databaseInfo()
            #expect(before.name == workspace.url.keyspace.database)
            #expect(before.isOnline)
            #expect(before.instance != nil)
            #expect((before.documentCount != nil) == KnownDifferences.countsDocuments[workspace.kind])
            try await workspace.put(workspace.id("doc"))
            let after = try await workspace.gateway.databaseInfo()
            #expect(after.newestSequence != nil && after.newestSequence != before.newestSequence)
            #expect(after.instance == before.instance)
        }
    }

    @Test(.serversWithUser) func sessionReplacesNameAndPassword() async throws {
        try await Workspace.with { workspace in
            let gateway = workspace.server.client(on: workspace.url, usesSession: true)
            let id = DocumentID(workspace.id("doc"))
            let revision = try await gateway.put(id, body: "{}".bytes)
            #expect(try await gateway.document(id)?.root["_rev"]?.string == revision.text)
            await gateway.shutdown()
        }
    }

    @Test func unknownDatabaseIsNotFoundOrForbidden() async throws {
        let server = try await ConformanceServer.shared()
        let gateway = server.client(on: server.url.sibling(try KeyspaceName("changebot-no-database")))
        let isHidden = KnownDifferences.unknownDatabase[server.kind].status == 401 && !server.isAdministration
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == (isHidden ? .unauthorized : .notFound))
        #expect(error?.isAboutKeyspace == true)
        await gateway.shutdown()
    }

    @Test(arguments: ["plain", "a/b", "a b+c", "é", "☃?#&"]) func documentIsWrittenAndRead(_ name: String) async throws
    {
        try await Workspace.with { workspace in
            let id = DocumentID(workspace.id(name))
            #expect(try await workspace.gateway.document(id) == nil)
            let first = try await workspace.gateway.put(id, body: #"{"n":1}"#.bytes)
            #expect(first.generation == 1)
            let document = try #require(try await workspace.gateway.document(id)).root
            #expect(document["_id"]?.string == id.text)
            #expect(document["_rev"]?.string == first.text)
            #expect(document["n"]?.integer == 1)
            let second = try await workspace.gateway.put(id, body: #"{"_rev":"\#(first)","n":2}"#.bytes)
            #expect(second.generation == 2)
        }
    }

    @Test func conflictHasItsOwnError() async throws {
        try await Workspace.with { workspace in
            let id = DocumentID(workspace.id("doc"))
            try await workspace.gateway.put(id, body: "{}".bytes)
            let error = await #expect(throws: GatewayError.self) {
                try await workspace.gateway.put(id, body: "{}".bytes)
            }
            #expect(error?.code == .conflict)
            #expect(error?.cause == (workspace.kind.isCouchDB ? .documentConflict : .documentExists))
            #expect(error?.status == 409)
            #expect(error?.isRetryable == false)
        }
    }

    @Test func badRequestsHaveTheirOwnErrors() async throws {
        try await Workspace.with { workspace in
            let id = DocumentID(workspace.id("doc"))
            let error = await #expect(throws: GatewayError.self) {
                try await workspace.gateway.put(id, body: "[1]".bytes)
            }
            #expect(error?.code == .badRequest)
            #expect(error?.isRetryable == false)
        }
    }

    @Test func deletedDocumentIsNil() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let tombstone = try await workspace.delete(id, try await workspace.put(id))
            #expect(try await workspace.gateway.document(DocumentID(id)) == nil)
            let deleted = try await workspace.gateway.document(
                DocumentID(id), revision: RevisionID(tombstone), with: .history)
            #expect(deleted?.root["_deleted"]?.bool == true)
            #expect(deleted?.root["_revisions"]?["start"]?.integer == 2)
        }
    }

    @Test func localDocumentIsWrittenAndRead() async throws {
        try await Workspace.with { workspace in
            let (name, gateway) = (workspace.local("checkpoint"), workspace.gateway)
            let missing = try await gateway.localDocument(name)
            #expect(missing == nil)
            let first = try await gateway.saveLocalDocument(name, body: #"{"at":"1::5"}"#.bytes)
            #expect(first.text == "0-1")
            let read = try await gateway.localDocument(name)
            #expect(read == LocalDocument(revision: first, body: #"{"at":"1::5"}"#.bytes))
            let second = try await gateway.saveLocalDocument(name, body: "{}".bytes, revision: first)
            #expect(second.text == "0-2")
        }
    }

    @Test(.servers("checks no revisions of local documents") { KnownDifferences.localStale[$0.kind] == nil })
    func updateOfAnOutdatedLocalDocumentIsAConflict() async throws {
        try await Workspace.with { workspace in
            let (name, gateway) = (workspace.local("checkpoint"), workspace.gateway)
            let first = try await gateway.saveLocalDocument(name, body: "{}".bytes)
            try await gateway.saveLocalDocument(name, body: "{}".bytes, revision: first)
            for revision in [nil, first] {
                let error = await #expect(throws: GatewayError.self) {
                    try await gateway.saveLocalDocument(name, body: "{}".bytes, revision: revision)
                }
                #expect(error?.code == .conflict)
                #expect(error?.cause == .localDocumentConflict)
            }
        }
    }

    @Test(.serversThatCheckPasswords) func wrongPasswordIsUnauthorized() async throws {
        let server = try await ConformanceServer.shared()
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "changebot-nobody", password: "wrong")
        let gateway = Gateway(server.url, settings: settings)
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == .unauthorized)
        #expect(error?.cause == .wrongCredentials)
        await gateway.shutdown()
    }
}
