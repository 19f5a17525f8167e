import Encodings
import HTTPServing
import LosslessJSON
import SyncFunctions
import TestKit
import Testing

@testable import EmbeddedGateway

/// The effects of a sync function on documents and feeds, beyond the recorded scenes.
@Suite(.limitedParallelism) struct GatewayFunctionTests {
    private static let grants = """
        function (doc, oldDoc) {
            if (doc.type == "grant") { access(doc.user, doc.channel); role(doc.member, doc.role); return; }
            if (doc.owner) requireUser(doc.owner);
            channel(doc.channels);
        }
        """
    private static let pass = PasswordHash("pass")

    private func gateway(
        _ source: String = grants, storage: EmbeddedGateway.Storage = .memory
    ) async throws -> TestGateway {
        let gateway = try TestGateway(storage: storage)
        gateway.store.function.set(try SyncFunction(source))
        var users = EmbeddedGateway.Users()
        users.roles["staff"] = []
        for name in ["kim", "lee"] { users.accounts[name] = .init(password: Self.pass) }
        try await gateway.router.accounts.replace(with: users)
        return gateway
    }

    private func fields(_ name: String) -> [HTTPField] {
        [.json, HTTPField("Authorization", "Basic \(Base64.text(Array("\(name):pass".utf8)))")]
    }

    /// As an administrator.
    @discardableResult
    private func administer(
        _ gateway: TestGateway, _ method: String, _ target: String, _ body: String = ""
    ) async throws -> Collected {
        var router = gateway.router
        router.isAdministration = true
        return try await Collected(
            router.answer(Request(method, target, fields: [.json], body: Array(body.utf8))))
    }

    /// `SEQ ID` of each row, followed by `!` for revocations.
    private func rows(_ answer: Collected) -> [String] {
        (SmallJSON(answer.bytes)?["results"]?.elements ?? []).map { row in
            let sequence = row["seq"]?.integer.map(String.init) ?? row["seq"]?.string ?? "?"
            return "\(sequence) \(row["id"]?.string ?? "?")\(row["revoked"] == nil ? "" : "!")"
        }
    }

    private func changes(_ gateway: TestGateway, _ name: String, _ query: String) async throws -> [String] {
        rows(try await gateway.answer("GET", "/open/_changes?\(query)", fields: fields(name)))
    }

    /// Runs `body` while a longpoll waits, and returns the rows of the longpoll.
    private func waiting(
        _ gateway: TestGateway, _ name: String, _ query: String, _ body: () async throws -> Void
    ) async throws -> [String] {
        async let answer = gateway.answer(
            "GET", "/open/_changes?feed=longpoll&timeout=60000&\(query)", fields: fields(name))
        while gateway.store.signal.waitingCount == 0 { await Task.yield() }
        try await body()
        return rows(try await answer)
    }

    @Test func parentHasItsAttachments() async throws {
        let gateway = try await gateway(
            """
            function (doc, oldDoc) {
                if (oldDoc) throw {forbidden: String(doc._attachments) + " " + Object.keys(oldDoc._attachments.a).sort()
                    + " " + oldDoc._attachments.a.length};
            }
            """)
        let body = #"{"_attachments":{"a":{"content_type":"text/plain","data":"aGk="}}}"#
        #expect(try await administer(gateway, "PUT", "/open/d", body).status == 201)
        let revision = try #require(try gateway.store.winner(of: "d")?.revision)
        let answer = try await administer(gateway, "PUT", "/open/d?rev=\(revision)", #"{"n":1}"#)
        #expect(answer.status == 403)
        #expect(answer.text.contains("undefined content_type,digest,length,revpos,stub,ver 2"), "\(answer.text)")
    }

    @Test func starInAFilterMeansAllChannelsOfTheUser() async throws {
        let gateway = try await gateway()
        try await administer(gateway, "PUT", "/open/a", #"{"channels":"a"}"#)
        try await administer(gateway, "PUT", "/open/b", #"{"channels":"b"}"#)
        try await administer(gateway, "PUT", "/open/g", #"{"type":"grant","user":"kim","channel":"a"}"#)
        let all = try await changes(gateway, "kim", "")
        #expect(all.contains { $0.hasSuffix(" a") } && !all.contains { $0.hasSuffix(" b") })
        #expect(try await changes(gateway, "kim", "filter=sync_gateway/bychannel&channels=*") == all)
        #expect(try await changes(gateway, "kim", "filter=sync_gateway/bychannel&channels=b,*") == all)
    }

    @Test(arguments: [
        (#"{"_purged":false}"#, 400, "user defined top-level property '_purged' is not allowed in document body"),
        (#"{"_sync_x":1}"#, 400, "user defined top-level properties that start with '_sync_' are not allowed"),
        (#"{"_removed":1}"#, 404, "Document revision is not accessible"), (#"{"_removed":null}"#, 201, ""),
    ])
    func reservedMembersAreRefused(body: String, status: Int, reason: String) async throws {
        let answer = try await administer(try await gateway("function (doc) {}"), "PUT", "/open/d", body)
        #expect(answer.status == status)
        #expect(answer.text.contains(reason))
    }

    @Test(arguments: [
        ("_default._default", true), ("s.c", true), (String(repeating: "a", count: 251) + ".c", true),
        ("-.a_%", true), (String(repeating: "a", count: 252) + ".c", false), ("_s.c", false), ("s.%c", false),
        ("s.", false), ("s.c.d", false), ("s", false),
    ])
    func scopeAndCollectionNamesFollowCouchbaseServer(name: String, isValid: Bool) {
        #expect(EmbeddedGateway.isCollectionName(name) == isValid)
    }

    @Test func waitingFeedSeesAGrantAndItsRevocation() async throws {
        let gateway = try await gateway()
        try await administer(gateway, "PUT", "/open/old", #"{"channels":"a"}"#)
        let start = "since=\(try gateway.store.lastSequence())"
        #expect(
            try await waiting(gateway, "kim", start) {
                try await administer(gateway, "PUT", "/open/g", #"{"type":"grant","user":"kim","channel":"a"}"#)
            } == ["6:5 old"])
        let revision = try #require(try gateway.store.winner(of: "g")?.revision)
        #expect(
            try await waiting(gateway, "kim", "since=6&revocations=true") {
                try await administer(gateway, "DELETE", "/open/g?rev=\(revision)")
            } == ["7:5 old!"])
        #expect(try await gateway.answer("GET", "/open/old", fields: fields("kim")).status == 403)
    }

    @Test func roleGrantedByADocumentGrantsItsChannels() async throws {
        let gateway = try await gateway()
        try await administer(gateway, "PUT", "/open/d", #"{"channels":"s"}"#)
        try await administer(gateway, "PUT", "/open/g", #"{"type":"grant","user":"role:staff","channel":"s"}"#)
        #expect(try await changes(gateway, "kim", "since=0").count == 1)
        #expect(
            try await waiting(gateway, "kim", "since=6") {
                try await administer(gateway, "PUT", "/open/m", #"{"type":"grant","member":"kim","role":"role:staff"}"#)
            } == ["7:5 d"])
        #expect(try await changes(gateway, "lee", "since=0").count == 1)
    }

    @Test func grantByTwoDocumentsEndsWithTheLast() async throws {
        let gateway = try await gateway()
        for id in ["g1", "g2"] {
            try await administer(gateway, "PUT", "/open/\(id)", #"{"type":"grant","user":"kim","channel":"a"}"#)
        }
        try await administer(gateway, "PUT", "/open/d", #"{"channels":"a"}"#)
        for (id, status) in [("g1", 200), ("g2", 403)] {
            let revision = try #require(try gateway.store.winner(of: id)?.revision)
            try await administer(gateway, "DELETE", "/open/\(id)?rev=\(revision)")
            #expect(try await gateway.answer("GET", "/open/d", fields: fields("kim")).status == status)
        }
    }

    @Test func grantsSurviveARestart() async throws {
        try await withTemporaryFile { path in
            let first = try await gateway(storage: .file(path))
            try await administer(first, "PUT", "/open/d", #"{"channels":"a"}"#)
            try await administer(first, "PUT", "/open/g", #"{"type":"grant","user":"kim","channel":"a"}"#)
            let before = try await changes(first, "kim", "since=0")
            try first.store.close()
            let second = try await gateway(storage: .file(path))
            #expect(try await changes(second, "kim", "since=0") == before)
            try second.store.close()
        }
    }

    @Test func resyncRunsANewFunctionOverAllDocuments() async throws {
        let gateway = try await gateway("function (doc) { channel('first'); }")
        try await administer(gateway, "PUT", "/open/a", #"{"to":"kim"}"#)
        try await administer(gateway, "PUT", "/open/b", #"{"bad":true}"#)
        let source = "function (doc) { if (doc.bad) throw {forbidden: 'bad'}; channel('c'); access(doc.to, 'c'); }"
        #expect(try await administer(gateway, "PUT", "/open/_config/sync", source).status == 200)
        #expect(try await administer(gateway, "GET", "/open/_config/sync").text == source)
        #expect(try gateway.store.winner(of: "a")?.channels == ["first"])
        #expect(try await administer(gateway, "POST", "/open/_resync").text.contains(#""docs_changed":2"#))
        #expect(try gateway.store.winner(of: "a")?.channels == ["c"])
        #expect(try gateway.store.winner(of: "b")?.channels == [])
        #expect(try await changes(gateway, "kim", "since=0") == ["3 _user/kim", "5 a"])
        #expect(try await administer(gateway, "POST", "/open/_resync").text.contains(#""docs_changed":0"#))
        try await administer(
            gateway, "PUT", "/open/_config/sync", "function (doc) { channel('d'); access('kim', 'd'); }")
        try await administer(gateway, "POST", "/open/_resync?regenerate_sequences=true")
        #expect(try await changes(gateway, "kim", "since=6").count == 2)
    }

    @Test func invalidFunctionChangesNothing() async throws {
        let gateway = try await gateway("function (doc) { channel('first'); }")
        let answer = try await administer(gateway, "PUT", "/open/_config/sync", "function (doc) { let a; }")
        #expect(answer.status == 400)
        #expect(
            answer.text.contains(#"1 errors:\nsync function error: invalid javascript syntax: (anonymous): Line 1 "#))
        try await administer(gateway, "PUT", "/open/a", "{}")
        #expect(try gateway.store.winner(of: "a")?.channels == ["first"])
    }

    @Test func functionRunsForAttachmentsAndReplicatedRevisions() async throws {
        let gateway = try await gateway()
        let kim = fields("kim")
        #expect(
            try await gateway.answer("PUT", "/open/d", #"{"owner":"kim","channels":"!"}"#, fields: kim).status == 201)
        let revision = try #require(try gateway.store.winner(of: "d")?.revision)
        for (name, status) in [("lee", 403), ("kim", 201)] {
            let put = try await gateway.answer("PUT", "/open/d/note?rev=\(revision)", "hello", fields: fields(name))
            #expect(put.status == status, "\(put.text)")
        }
        let replicated = #"{"docs":[{"_id":"r","_rev":"1-a","owner":"lee"}],"new_edits":false}"#
        let refused = try await gateway.answer("POST", "/open/_bulk_docs", replicated, fields: kim)
        #expect(refused.text == #"[{"error":"forbidden","id":"r","reason":"sg wrong user","status":403}]"#)
        #expect(try gateway.store.winner(of: "r") == nil)
    }

    @Test func administratorsHaveASeparatePort() async throws {
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.users = try EmbeddedGateway.Users.parse(
            Array(#"{"databases":{"todo":{"sync":`function (doc) { requireAdmin(); }`}}}"#.utf8), database: "todo")
        configuration.administration = ("127.0.0.1", 0)
        try await EmbeddedGateway(configuration).whileServing { address in
            #expect(address.administrationURL != address.url)
            #expect(address.administrationURL?.hasSuffix("/todo") == true)
        }
    }

    @Test func usersAreCreatedAndChanged() async throws {
        let gateway = try await gateway()
        for (method, path, body, status) in [
            ("PUT", "_user/zoe", #"{"password":"pass","admin_channels":["z"]}"#, 201),
            ("PUT", "_user/zoe", #"{"admin_roles":["staff"]}"#, 200), ("PUT", "_role/new", "{}", 201),
            ("POST", "_user/", #"{"name":"ann","password":"pass"}"#, 201), ("PUT", "_user/a:b", "{}", 400),
            ("PUT", "_user/x", #"{"pasword":"pass"}"#, 400), ("DELETE", "_user/ann", "", 200),
            ("DELETE", "_user/ann", "", 404), ("GET", "_user/nobody", "", 404), ("PATCH", "_user/zoe", "", 405),
        ] {
            #expect(try await administer(gateway, method, "/open/\(path)", body).status == status, "\(path)")
        }
        #expect(
            try await administer(gateway, "GET", "/open/_user/zoe").text
                == #"{"name":"zoe","admin_channels":["z"],"email":"","disabled":false,"admin_roles":["staff"],"#
                + #""all_channels":["!","z"],"roles":["staff"]}"#)
        #expect(try await administer(gateway, "GET", "/open/_user/").text == #"["kim","lee","zoe"]"#)
        #expect(try await gateway.answer("GET", "/open/_user/zoe", fields: fields("zoe")).status == 404)
    }
}
