import Locking
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct LocalDocumentTests {
    /// The answers of both servers to requests for one keyspace's `_local` documents, as recorded.
    private func memory(_ headers: [String], keyspace: String) throws -> ScriptedGateway {
        let stored = Monitor<(generation: Int, body: String)?>(nil)
        return try ScriptedGateway(keyspace: keyspace) { connection, request in
            #expect(request.target == "/\(keyspace)/_local/changebot%2F1")
            let current = stored.with { $0 }
            let revision = current.map { "0-\($0.generation)" }
            if request.method == "GET" {
                guard let current, let revision else {
                    return try connection.answer(404, headers: headers, body: Self.missing)
                }
                let start = #"{"_id":"_local/changebot/1","_rev":"\#(revision)","#
                return try connection.answer(headers: headers, body: start + current.body.dropFirst())
            }
            let sent = request.text.hasPrefix(#"{"_rev":"#) ? String(request.text.dropFirst(9).prefix(3)) : nil
            guard headers == couchDB || sent == revision else {
                return try connection.answer(
                    409, headers: headers, body: #"{"error":"conflict","reason":"Document update conflict"}"#)
            }
            let generation = (current?.generation ?? 0) + 1
            let body = sent == nil ? request.text : "{" + request.text.dropFirst(14)
            stored.with { $0 = (generation, body) }
            try connection.answer(
                201, headers: headers, body: #"{"id":"_local/changebot/1","ok":true,"rev":"0-\#(generation)"}"#)
        }
    }

    private static let missing = #"{"error":"not_found","reason":"missing"}"#
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: [(syncGateway, "todo"), (syncGateway, "todo._default.tasks"), (couchDB, "todo")])
    func savedDocumentIsReadBack(headers: [String], keyspace: String) async throws {
        let gateway = try memory(headers, keyspace: keyspace)
        let (name, client) = ("changebot/1", gateway.gateway)
        #expect(try await client.localDocument(name) == nil)
        let first = bytes(#"{"last":"29:13","n":1.10,"é":[]}"#)
        #expect(try await client.saveLocalDocument(name, body: first).text == "0-1")
        let read = try #require(try await client.localDocument(name))
        #expect(read == LocalDocument(revision: RevisionID("0-1"), body: first))
        let second = try await client.saveLocalDocument(name, body: bytes(#"{"last":30}"#), revision: read.revision)
        #expect(try await client.localDocument(name) == LocalDocument(revision: second, body: bytes(#"{"last":30}"#)))
    }

    @Test func otherRevisionIsConflictOnSyncGateway() async throws {
        let gateway = try memory(syncGateway, keyspace: "todo")
        try await gateway.gateway.saveLocalDocument("changebot/1", body: bytes("{}"))
        for revision in [nil, RevisionID("0-7")] {
            let error = await #expect(throws: GatewayError.self) {
                try await gateway.gateway.saveLocalDocument("changebot/1", body: bytes("{}"), revision: revision)
            }
            #expect(error?.code == .conflict && error?.cause == .localDocumentConflict)
        }
    }

    @Test func revisionInBodyIsIgnored() async throws {
        let gateway = try memory(syncGateway, keyspace: "todo")
        let body = bytes(#"{"_id":"_local/other","_rev":"0-9","a":1}"#)
        try await gateway.gateway.saveLocalDocument("changebot/1", body: body)
        #expect(try await gateway.gateway.localDocument("changebot/1")?.body == bytes(#"{"a":1}"#))
    }

    @Test(arguments: ["[]", "5", "", "{", #"{"a":01}"#])
    func bodiesOtherThanObjectsAreNotSent(body: String) async throws {
        let scripted = try ScriptedGateway { _, _ in Issue.record("a request was sent") }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.saveLocalDocument("a", body: bytes(body))
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test(arguments: [
        (403, "Forbidden", "forbidden", GatewayError.Code.notOffered),
        (405, "Method Not Allowed", "", .notOffered),
        (404, "not_found", "unknown URL", .notOffered),
        (404, "not_found", "Database does not exist.", .notFound),
        (404, "not_found", "keyspace todo not found", .notFound),
        (401, "Unauthorized", "Login required", .unauthorized),
        (503, "Service Unavailable", "DB is currently under maintenance", .unavailable),
    ])
    func missingPermissionIsDistinguishedFromOtherErrors(
        status: Int, name: String, reason: String, code: GatewayError.Code
    ) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                status, headers: syncGateway, body: #"{"error":"\#(name)","reason":"\#(reason)"}"#)
        }
        let reading = await #expect(throws: GatewayError.self) { try await scripted.gateway.localDocument("a") }
        #expect(reading?.code == code)
        let writing = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.saveLocalDocument("a", body: bytes("{}"))
        }
        #expect(writing?.code == code)
    }

    @Test func answerWithoutRevisionIsMalformed() async throws {
        let scripted = try ScriptedGateway { connection, _ in try connection.answer(headers: couchDB, body: "{}") }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.localDocument("a") }
        #expect(error?.code == .malformedAnswer)
    }
}

/// A missing database must not be mistaken for a missing document.
@Suite(.limitedParallelism) struct AbsenceTests {
    private static let gone = [
        (syncGateway, 404, #"{"error":"not_found","reason":"keyspace todo not found"}"#),
        (couchDB, 404, #"{"error":"not_found","reason":"Database does not exist."}"#),
        (couchDB, 404, #"{"error":"not_found","reason":"no_db_file"}"#),
        (syncGateway, 401, #"{"error":"Unauthorized","reason":"Login required"}"#),
        (syncGateway, 503, #"{"error":"Service Unavailable","reason":"DB is currently under maintenance"}"#),
    ]

    @Test(arguments: gone)
    func missingDatabaseIsError(headers: [String], status: Int, body: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(status, headers: headers, body: body)
        }
        let gateway = scripted.gateway
        let calls: [@Sendable () async throws -> Bool] = [
            { try await gateway.document("a") == nil }, { try await gateway.localDocument("a") == nil },
            { try await gateway.attachment("x", of: "a") == nil },
            { try await gateway.openAttachment("x", of: "a") == nil },
            { try await gateway.document("a", with: .history) == nil },
            {
                _ = try await gateway.documents(limit: 5)
                return false
            },
        ]
        for call in calls {
            let error = await #expect(throws: GatewayError.self) { _ = try await call() }
            #expect(error?.status == status)
            #expect(error?.isAboutKeyspace == true)
        }
    }

    /// If the reason is unknown, the database is requested.
    @Test(arguments: [(200, #"{"db_name":"todo"}"#), (404, #"{"error":"not_found","reason":"no_db_file"}"#)])
    func unknownAnswersAreInvestigated(status: Int, database: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            if request.target == "/todo/" {
                try connection.answer(status, headers: couchDB, body: database)
            } else {
                try connection.answer(404, headers: couchDB, body: #"{"error":"not_found","reason":"nothing here"}"#)
            }
        }
        if status == 200 {
            #expect(try await scripted.gateway.document("a") == nil)
        } else {
            let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("a") }
            #expect(error?.cause == .databaseMissing)
        }
    }

    @Test(arguments: ["missing", "deleted", "missing attachment x", "Document is missing attachment"])
    func missingDocumentIsNil(reason: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target != "/todo/")
            try connection.answer(404, headers: couchDB, body: #"{"error":"not_found","reason":"\#(reason)"}"#)
        }
        #expect(try await scripted.gateway.document("a") == nil)
        #expect(try await scripted.gateway.attachment("x", of: "a") == nil)
    }
}
