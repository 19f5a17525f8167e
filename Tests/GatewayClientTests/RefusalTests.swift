import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

/// The refusals of gateways, and the errors made of them.
@Suite(.limitedParallelism) struct RefusalTests {
    @Test func tableOfAnswersIsRead() {
        #expect(RecordedRefusal.all.count == RecordedRefusal.table.split(separator: "\n").count)
    }

    @Test(arguments: RecordedRefusal.all)
    func eachRefusalHasCodeAndCause(refusal: RecordedRefusal) async throws {
        let error = await #expect(throws: GatewayError.self) { try await refusal.sendRequest() }
        #expect(error?.code.description == refusal.code)
        #expect(error?.cause?.description == refusal.cause)
        #expect(error?.name == refusal.name)
        #expect(error?.status == refusal.status)
        let expectedReason = refusal.reason.hasSuffix(".") ? String(refusal.reason.dropLast()) : refusal.reason
        #expect(error?.message.contains(expectedReason) == true, "\(error?.message ?? "")")
        #expect(error?.isRetryable == ["unavailable", "serverError"].contains(refusal.code))
    }

    /// Messages must contain a remedy.
    @Test(arguments: [
        // Without credentials.
        ("wrongCredentials", "give a user name and password"), ("loginRequired", "give a user name and password"),
        ("accessDenied", "give a user name and password"),
        ("databaseMissing", "is there a database 'todo'?"), ("databaseOffline", "online again"),
        ("missingStub", "send the attachment itself"), ("localDocumentConflict", "send its current revision"),
        ("unknownDatabaseOrLogin", "or there is no database 'todo'"),
    ])
    func messagesNameTheRemedy(cause: String, remedy: String) async throws {
        let refusal = try #require(RecordedRefusal.all.first { $0.cause == cause })
        let error = await #expect(throws: GatewayError.self) { try await refusal.sendRequest() }
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
    }

    /// Regression: the database exists but has only named collections, and the message asked whether it exists.
    @Test func databaseWithoutDefaultCollectionNeedsCollectionName() async throws {
        let refusal = try #require(RecordedRefusal.all.first { $0.reason == "keyspace todo not found" })
        let error = await #expect(throws: GatewayError.self) { try await refusal.sendRequest() }
        #expect(error?.message.hasSuffix("needs DB.SCOPE.COLLECTION in the URL") == true, "\(error?.message ?? "")")
    }

    /// Regression: bots that shared a locked account made dead letters of all documents that they read, and gave up
    /// their marks.
    @Test func lockedAccountIsNoAnswerAboutADocument() async throws {
        var settings = GatewaySettings()
        settings.dialect = .couchDB
        settings.credentials = .basic(user: "amy", password: "new")
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            try connection.answer(
                403, headers: couchDB,
                body: #"{"error":"forbidden","reason":"Account is temporarily locked due to multiple authentication "#
                    + #"failures"}"#)
        }
        let gateway = scripted.gateway
        let requests: [@Sendable () async throws -> Void] = [
            { _ = try await gateway.currentDocuments(["a", "b"]) },
            { _ = try await gateway.currentDocument("a") },
            { _ = try await gateway.expiry(of: "a") },
            { _ = try await gateway.localDocument("changebot.bot") },
            { _ = try await gateway.documents(limit: 1) },
        ]
        for (number, request) in requests.enumerated() {
            let error = await #expect(throws: GatewayError.self, "\(number)") { try await request() }
            #expect(error?.code == .unavailable && error?.cause == .accountLocked, "\(number)")
        }
    }

    @Test func unknownAnswerHasNoCause() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(400, headers: syncGateway, body: #"{"error":"Bad Request","reason":"No, thanks"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .badRequest)
        #expect(error?.cause == nil)
    }

    /// Sync Gateway's recorded answer to an unsupported HEAD. The same answer from a firewall is not a gateway's.
    @Test(arguments: [(syncGateway, GatewayError.Code.badRequest), ([], .malformedAnswer)])
    func emptyBodyIsGatewayAnswerOnlyWithServerHeader(headers: [String], code: GatewayError.Code) async throws {
        let scripted = try ScriptedGateway { connection, _ in try connection.answer(400, headers: headers) }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == code)
    }

    /// A short form of Squid's page: it does not come from a gateway, but the error still has a remedy.
    @Test func proxyLoginIsDistinguishedFromGatewayLogin() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(407, headers: ["Proxy-Authenticate: Basic"], body: "<html>Cache Access Denied</html>")
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized && error?.cause == .proxyLoginRequired)
        #expect(error?.message.contains("proxy's URL") == true)
    }

    @Test func bulkWriteRowsKeepTheirReasons() throws {
        let rows: [(String, BulkOutcome)] = [
            (
                #"{"error":"bad_request","reason":"Bad _revisions","status":400}"#,
                .rejected(status: 400, reason: "bad_request: Bad _revisions")
            ),
            (
                #"{"error":"413","reason":"Attachment too large","status":413}"#,
                .rejected(status: 413, reason: "Attachment too large")
            ),
            (
                #"{"error":"500","reason":"Internal error: illegal base64 data at input byte 0","status":500}"#,
                .failed(reason: "Internal error: illegal base64 data at input byte 0")
            ),
            (#"{"error":"conflict","reason":"Document update conflict."}"#, .conflict),
        ]
        for (json, outcome) in rows { #expect(BulkOutcome(row: try JSONText(json).root) == outcome) }
    }
}

extension RecordedRefusal {
    /// Sends a request to a gateway that gives this answer.
    fileprivate func sendRequest() async throws {
        var body = JSONWriter()
        body.object { body in
            body.member("error", string: name)
            body.member("reason", string: reason)
        }
        let headers = dialect == .couchDB ? couchDB : syncGateway + (isChallenge ? ["WWW-Authenticate: Basic"] : [])
        let scripted = try ScriptedGateway {
            [body = String(decoding: body.bytes, as: UTF8.self), status] connection, _ in
            try connection.answer(status, headers: headers, body: body)
        }
        let (gateway, object) = (scripted.gateway, Array("{}".utf8))
        switch question {
        case .database: _ = try await gateway.databaseInfo()
        case .changes: _ = try await gateway.changes(ChangesRequest())
        case .revisions: _ = try await gateway.openRevisions(of: "a")
        case .document: try await gateway.put("a", body: object)
        case .local: try await gateway.saveLocalDocument("a", body: object)
        case .attachment:
            try await gateway.putAttachment("x", of: "a", revision: nil, contentType: "text/plain", segments: [])
        case .bulk: _ = try await gateway.bulkDocs([BulkDocument(id: "a", segments: [object])])
        }
    }
}
