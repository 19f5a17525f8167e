import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

let syncGateway = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]
let couchDB = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]

/// A client of a server that gives scripted answers.
struct ScriptedGateway {
    let server: TestServer
    let gateway: Gateway

    init(
        keyspace: String = "todo", settings: GatewaySettings = GatewaySettings(),
        _ answer: @escaping @Sendable (TestConnection, TestRequest) throws -> Void
    ) throws {
        server = try TestServer { connection in try connection.serve { try answer(connection, $0) } }
        gateway = Gateway(try GatewayURL(server.url("/\(keyspace)")), settings: settings)
    }
}

@Suite(.limitedParallelism) struct GatewayInformationTests {
    @Test(arguments: [
        (
            syncGateway,
            #"{"db_name":"todo","update_seq":7,"committed_update_seq":7,"instance_start_time":1795208996707529,"compact_running":false,"purge_seq":0,"disk_format_version":0,"state":"Online"}"#,
            GatewayDialect.syncGateway, "7", true
        ),
        (
            syncGateway, #"{"db_name":"todo","update_seq":0,"state":"Offline"}"#, .syncGateway, "0", false
        ),
        (
            couchDB, #"{"instance_start_time":"1795208634","db_name":"todo","update_seq":"0-g1AA","doc_count":0}"#,
            .couchDB, "\"0-g1AA\"", true
        ),
    ])
    func databaseAndDialectAreRead(
        headers: [String], body: String, dialect: GatewayDialect, sequence: String, isOnline: Bool
    ) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/")
            try connection.answer(headers: headers, body: body)
        }
        let info = try await scripted.gateway.databaseInfo()
        #expect(info.name == "todo")
        #expect(info.updateSequence?.description == sequence)
        #expect(info.isOnline == isOnline)
        #expect(scripted.gateway.dialect == dialect)
    }

    @Test func databaseIsRequestedInsteadOfCollection() async throws {
        let scripted = try ScriptedGateway(keyspace: "prefix/todo._default.tasks") { connection, request in
            #expect(request.target == "/prefix/todo/")
            try connection.answer(headers: syncGateway, body: #"{"db_name":"todo","update_seq":3,"state":"Online"}"#)
        }
        _ = try await scripted.gateway.databaseInfo()
    }

    @Test func greetingShowsDialectBehindProxy() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                headers: ["Server: nginx"],
                body: #"{"couchdb":"Welcome","version":"3.5.0","vendor":{"name":"The Apache Software Foundation"}}"#)
        }
        #expect(try await scripted.gateway.findDialect() == .couchDB)
    }

    @Test func settingsOverrideDetectedDialect() async throws {
        var settings = GatewaySettings()
        settings.dialect = .couchDB
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            try connection.answer(headers: syncGateway, body: #"{"vendor":{"name":"Couchbase Sync Gateway"}}"#)
        }
        #expect(try await scripted.gateway.findDialect() == .couchDB)
    }

    @Test(arguments: [
        (
            401, syncGateway, #"{"error":"Unauthorized","reason":"Login required"}"#, "unauthorized",
            "no database 'todo'"
        ),
        (
            401, couchDB + ["WWW-Authenticate: Basic realm=\"administrator\""],
            #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#, "unauthorized", "password"
        ),
        (404, couchDB, #"{"error":"not_found","reason":"Database does not exist."}"#, "notFound", "does not exist"),
        (404, [], "<html>nginx</html>", "malformedAnswer", "not a gateway"),
        // It was asked again for five minutes.
        (501, [], "<html>Unsupported method</html>", "malformedAnswer", "not a gateway"),
        (400, [], "<html>nginx</html>", "malformedAnswer", "not a gateway"),
        (403, [], "<html>firewall</html>", "malformedAnswer", "not a gateway"),
        (200, ["Content-Type: text/html"], "<html>Welcome</html>", "malformedAnswer", "HTML"),
        (200, syncGateway, #"{"hello":"world"}"#, "malformedAnswer", "not a gateway"),
        (
            503, syncGateway, #"{"error":"Service Unavailable","reason":"DB is currently under maintenance"}"#,
            "unavailable", "maintenance"
        ),
        (301, ["Location: /todo/"], "", "malformedAnswer", "not a gateway"),
        (500, syncGateway, #"{"error":"Internal Server Error","reason":"Internal error: x"}"#, "serverError", "x"),
        (429, ["Retry-After: 7"], "", "tooManyRequests", "no reason"),
    ])
    func refusalsHaveCodeAndReason(
        status: Int, headers: [String], body: String, code: String, part: String
    ) async throws {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "hunter2")
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            try connection.answer(status, headers: headers, body: body)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code.description == code)
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
        #expect(error?.description.contains("hunter2") == false)
        if status == 429 { #expect(error?.retryAfter == .seconds(7)) }
    }

    @Test func unreachableGatewayIsReported() async throws {
        let server = try TestServer { _ in }
        let url = try GatewayURL(server.url("/todo"))
        server.stop()
        let error = await #expect(throws: GatewayError.self) { try await Gateway(url).databaseInfo() }
        #expect(error?.code == .cannotConnect || error?.code == .connectionLost)
    }
}

@Suite(.limitedParallelism) struct ChangesRequestTests {
    @Test func streamMayArriveByteByByte() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_changes?since=29%3A11&include_docs=true")
            try connection.write(
                "HTTP/1.1 200 OK\r\nServer: Couchbase Sync Gateway/4.1.1 CE\r\nConnection: close\r\n\r\n")
            try connection.writeByteByByte(FeedSamples.syncGateway)
            throw EndOfScript()
        }
        let since = try #require(SequenceID("29:11"))
        var answer = try await scripted.gateway.changes(ChangesRequest(since: since))
        var kinds: [Change.Kind] = []
        while let batch = try await answer.next() { kinds += batch.map(\.kind) }
        #expect(kinds == [.principal, .document, .tombstone, .removed, .revoked, .withoutBody, .document])
        #expect(answer.lastSequence?.description == "\"41\"")
    }

    @Test func longpollSendsItsTimeout() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_changes?since=0&include_docs=true&feed=longpoll&timeout=50000")
            try connection.answer(headers: syncGateway, body: "{\"results\":[\r\n],\n\"last_seq\":\"0\"}\n")
        }
        let feed = ChangesRequest.Feed.longpoll(timeout: ChangesRequest.defaultLongpollTimeout)
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        #expect(try await answer.next() == nil)
    }

    @Test func truncatedAnswerIsConnectionLost() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            // Sync Gateway stops like this: no final chunk, no bracket.
            let rows = "{\"results\":[\r\n{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]}\n,{\"seq\":2,"
            try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + rows)
            throw EndOfScript()
        }
        var answer = try await scripted.gateway.changes(ChangesRequest())
        #expect(try await answer.next()?.map(\.id) == ["a"])
        let error = await #expect(throws: GatewayError.self) { _ = try await answer.next() }
        #expect(error?.code == .connectionLost)
        #expect(error?.isRetryable == true)
    }

    @Test func proxyPageIsMalformedAnswer() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: ["Content-Type: text/html"], body: "<html>Sign in</html>")
        }
        var answer = try await scripted.gateway.changes(ChangesRequest())
        let error = await #expect(throws: GatewayError.self) { _ = try await answer.next() }
        #expect(error?.code == .malformedAnswer)
    }
}

@Suite(.limitedParallelism) struct WriteTests {
    @Test func bulkOutcomesAreMatchedByIDInAnyOrder() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "POST")
            #expect(request.target == "/todo/_bulk_docs")
            #expect(request.text == "{\"docs\":[{\"_id\":\"a\"},\n{\"_id\":\"b\",\"x\":1.10},\n{\"_id\":\"c\"}]}")
            try connection.answer(
                201, headers: syncGateway,
                body: #"[{"error":"conflict","id":"c","reason":"Document exists","status":409},{"id":"a","rev":"1-a"}]"#
            )
        }
        let documents = [
            BulkDocument(id: "a", segments: [Array(#"{"_id":"a"}"#.utf8)]),
            BulkDocument(id: "b", segments: [Array(#"{"_id":"b","x":"#.utf8), Array("1.10}".utf8)]),
            BulkDocument(id: "c", segments: [Array(#"{"_id":"c"}"#.utf8)]),
        ]
        let outcomes = try await scripted.gateway.bulkDocs(documents)
        #expect(outcomes.count == 3)
        #expect(outcomes[0] == .written(RevisionID("1-a")))
        #expect(outcomes[1] == .unmentioned)
        #expect(outcomes[2] == .conflict)
    }

    @Test(arguments: [(413, GatewayError.Code.tooLarge), (400, .badRequest), (403, .forbidden)])
    func refusalOfWholeRequestIsError(status: Int, code: GatewayError.Code) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(status, headers: couchDB, body: #"{"error":"x","reason":"y"}"#)
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.bulkDocs([BulkDocument(id: "a", segments: [Array("{}".utf8)])])
        }
        #expect(error?.code == code)
    }

    @Test func allDocsReturnsOrderOfKeys() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_all_docs?include_docs=true")
            #expect(request.text == #"{"keys":["b","no\"such","a"]}"#)
            try connection.answer(
                headers: syncGateway,
                body: """
                    {"rows":[
                    {"key":"b","id":"b","value":{"rev":"1-b"},"doc":{"n":1.10,"_id":"b","_rev":"1-b"}}
                    ,{"key":"no\\"such","error":"not_found","status":404}
                    ,{"key":"a","id":"a","value":{"rev":"2-a"},"doc":{"_id":"a","_rev":"2-a"}}
                    ],
                    "total_rows":3,"update_seq":37}
                    """)
        }
        let lookups = try await scripted.gateway.allDocs(keys: ["b", "no\"such", "a"])
        guard lookups.count == 3, case .found(_, let b) = lookups[0], case .missing = lookups[1],
            case .found(let revision, _) = lookups[2]
        else {
            Issue.record("\(lookups)")
            return
        }
        #expect(String(decoding: b.bytes, as: UTF8.self) == #"{"n":1.10,"_id":"b","_rev":"1-b"}"#)
        #expect(revision.text == "2-a")
    }

    /// As deep as a feed accepts, and one level more: neither prevents the other from being read.
    @Test func deepDocumentsAreReadOrRefusedIndividually() async throws {
        func document(_ levels: Int) -> String {
            #"{"_id":"x","a":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1)
                + "}"
        }
        let rows = [("a", 10_000), ("b", 10), ("c", 9_999)].map { key, levels in
            #"{"key":"\#(key)","id":"\#(key)","value":{"rev":"1-a"},"doc":\#(document(levels))}"#
        }
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: syncGateway, body: "{\"rows\":[" + rows.joined(separator: ",") + "]}")
        }
        let lookups = try await scripted.gateway.allDocs(keys: ["a", "b", "c"])
        for lookup in lookups {
            guard case .found = lookup else {
                Issue.record("\(lookup)")
                return
            }
        }
        #expect(lookups.count == 3)
    }

    /// A truncated answer must not be mistaken for a missing document.
    @Test func keyWithoutRowIsMalformedAnswer() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: couchDB, body: #"{"total_rows":4,"offset":null,"rows":[]}"#)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.allDocs(keys: ["a"]) }
        #expect(error?.code == .malformedAnswer)
    }

    @Test func idsWithSlashesStayOneSegment() async throws {
        let scripted = try ScriptedGateway { connection, request in
            switch (request.method, request.target) {
            case ("GET", "/todo/a%2Fb%20c%3A%C3%A9%2B%26"):
                try connection.answer(headers: syncGateway, body: #"{"_id":"a/b c:é+&","_rev":"1-3","a":1}"#)
            case ("GET", "/todo/t1/my%20image.png"): try connection.answer(headers: syncGateway, body: "PNG")
            case ("GET", "/todo/_local/changebot.x"), ("GET", "/todo/gone"), ("GET", "/todo/t1/none"):
                try connection.answer(404, headers: syncGateway, body: #"{"error":"not_found","reason":"missing"}"#)
            case ("PUT", "/todo/_local/changebot.x"):
                #expect(request.text == #"{"last":"29:13"}"#)
                try connection.answer(
                    201, headers: syncGateway, body: #"{"id":"_local/changebot.x","ok":true,"rev":"0-1"}"#)
            case let other:
                Issue.record("\(other)")
                try connection.answer(500)
            }
        }
        let gateway = scripted.gateway
        #expect(try await gateway.document("a/b c:é+&")?.root["a"]?.integer == 1)
        #expect(try await gateway.document("gone") == nil)
        #expect(try await gateway.attachment("my image.png", of: "t1") == Array("PNG".utf8))
        #expect(try await gateway.attachment("none", of: "t1") == nil)
        #expect(try await gateway.localDocument("changebot.x") == nil)
        let body = Array(#"{"last":"29:13"}"#.utf8)
        #expect(try await gateway.saveLocalDocument("changebot.x", body: body).text == "0-1")
    }

    @Test(arguments: [
        (GatewayCredentials.basic(user: "amy", password: "s3cr:et"), "Basic YW15OnMzY3I6ZXQ="),
        (.bearer(token: "tok"), "Bearer tok"),
    ])
    func credentialsAreSentWithEveryRequest(credentials: GatewayCredentials, header: String) async throws {
        var settings = GatewaySettings()
        settings.credentials = credentials
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            #expect(request.values(of: "authorization") == [header])
            try connection.answer(headers: syncGateway, body: #"{"db_name":"todo"}"#)
        }
        _ = try await scripted.gateway.databaseInfo()
        _ = try await scripted.gateway.databaseInfo()
    }
}

/// Ends the script of a connection, and with it the connection.
struct EndOfScript: Error {}
