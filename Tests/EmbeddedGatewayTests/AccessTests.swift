import Encodings
import HTTPServing
import LosslessJSON
import Synchronization
import Testing

@testable import EmbeddedGateway

/// Access to documents by channels.
@Suite struct AccessTests {
    private static let pass = PasswordHash("pass")

    private static func users(_ accounts: [String: [String]], guest: [String]? = nil) -> EmbeddedGateway.Users {
        var users = EmbeddedGateway.Users()
        for (name, channels) in accounts { users.accounts[name] = .init(password: pass, channels: .init(channels)) }
        if let guest { users.guest = .init(channels: .init(guest)) }
        return users
    }

    /// `name:pass` as a field of the head.
    private static func basic(_ name: String, _ password: String = "pass") -> [HTTPField] {
        let text = Base64.text(Array("\(name):\(password)".utf8))
        return [.json, HTTPField("Authorization", "Basic \(text)")]
    }

    private func gateway(_ users: EmbeddedGateway.Users) async throws -> TestGateway {
        let gateway = try TestGateway()
        try await gateway.router.accounts.replace(with: users)
        return gateway
    }

    /// `SEQ:ID` of each row, followed by `-` for removals.
    private func rows(_ gateway: TestGateway, _ name: String, _ query: String = "") async throws -> [String] {
        let answer = try await gateway.answer("GET", "/open/_changes?\(query)", fields: Self.basic(name))
        let rows = SmallJSON(answer.bytes)?["results"]?.elements ?? []
        return rows.map { row in
            let sequence = row["seq"]?.integer.map(String.init) ?? row["seq"]?.string ?? "?"
            return "\(sequence) \(row["id"]?.string ?? "?")\(row["removed"] == nil ? "" : "-")"
        }
    }

    @Test func usersSeeOnlyTheirChannels() async throws {
        let gateway = try await gateway(Self.users(["a": ["A"], "b": ["B"], "all": ["*"]]))
        let all = Self.basic("all")
        for (id, channels) in [
            ("inA", #""A""#), ("inB", #"["B"]"#), ("both", #"["A","B",7]"#), ("none", "{}"), ("open", #""!""#),
        ] {
            let put = try await gateway.answer("PUT", "/open/\(id)", "{\"channels\":\(channels)}", fields: all)
            #expect(put.status == 201)
        }
        #expect(try await rows(gateway, "a") == ["2 _user/a", "5 inA", "7 both", "9 open"])
        #expect(try await rows(gateway, "b") == ["4 _user/b", "6 inB", "7 both", "9 open"])
        #expect(try await rows(gateway, "all").count == 6)
        for (id, status) in [("inA", 200), ("inB", 403), ("both", 200), ("none", 403), ("open", 200), ("nothing", 404)]
        {
            #expect(try await gateway.answer("GET", "/open/\(id)", fields: Self.basic("a")).status == status)
        }
        let list = try await gateway.answer("GET", "/open/_all_docs?channels=true", fields: Self.basic("a")).text
        #expect(list.contains(#""total_rows":3"#) && !list.contains("inB") && list.contains(#""channels":["A"]"#))
        let keys = try await gateway.answer(
            "POST", "/open/_all_docs", #"{"keys":["inB","inA"]}"#, fields: Self.basic("a")
        ).text
        #expect(keys.contains(#"{"key":"inB","error":"forbidden","status":403}"#))
    }

    @Test func inaccessibleDocumentsCannotBeOverwritten() async throws {
        let gateway = try await gateway(Self.users(["a": ["A"], "w": ["*"]]))
        let put = try await gateway.answer("PUT", "/open/d", #"{"channels":"B","v":1}"#, fields: Self.basic("w"))
        let revision = try #require(put.field("Etag")?.filter { $0 != "\"" })
        let target = "/open/d/x?rev=\(revision)"
        let refused = try await gateway.answer("PUT", target, "data", fields: Self.basic("a"))
        #expect(refused.text.contains("Document revision is not accessible"))
        #expect(try await gateway.answer("PUT", "/open/d/x", "data", fields: Self.basic("a")).status == 403)
        #expect(try await gateway.answer("GET", "/open/d", fields: Self.basic("w")).text.hasSuffix(#""v":1}"#))
        let seen = try await gateway.answer("GET", "/open/d?rev=\(revision)", fields: Self.basic("a"))
        #expect(seen.text == #"{"_id":"d","_rev":"\#(revision)","_removed":true}"#)
    }

    @Test func unknownUsersAreRefused() async throws {
        let gateway = try await gateway(Self.users(["a": ["A"]]))
        let realm = #"Basic realm="Couchbase Sync Gateway""#
        for (fields, reason) in [
            ([.json], "Login required"), (Self.basic("a", "x"), "Invalid login"), (Self.basic("x"), "Invalid login"),
            ([HTTPField("Authorization", "Basic !!!")], "Login required"),
            ([HTTPField("Authorization", "Foo bar")], "Login required"),
        ] as [([HTTPField], String)] {
            let answer = try await gateway.answer("GET", "/open/", fields: fields)
            #expect(answer.status == 401)
            #expect(answer.text == #"{"error":"Unauthorized","reason":"\#(reason)"}"#)
            #expect(answer.field("Www-Authenticate") == realm)
        }
        #expect(try await gateway.answer("GET", "/").status == 200)
    }

    @Test func passwordIsCheckedForEachRequest() async throws {
        let gateway = try await gateway(Self.users(["a": ["A"]]))
        for (password, status) in [("pass", 200), ("pass", 200), ("other", 401), ("pass", 200), ("", 401)] {
            #expect(try await gateway.answer("GET", "/open/", fields: Self.basic("a", password)).status == status)
        }
    }

    @Test func rolesGrantTheirChannels() async throws {
        var users = Self.users(["a": []])
        users.roles = ["reader": ["A"]]
        users.accounts["a"]?.roles = ["reader"]
        let gateway = try await gateway(users)
        _ = try await gateway.answer("PUT", "/open/doc", #"{"channels":"A"}"#, fields: Self.basic("a"))
        #expect(try await gateway.answer("GET", "/open/doc", fields: Self.basic("a")).status == 200)
        let session = try await gateway.answer("GET", "/open/_session", fields: Self.basic("a")).text
        #expect(session.contains(#""userCtx":{"channels":{"!":1,"A":3},"name":"a"}"#))
    }

    @Test func olderDocumentsAreDueAtTheGrant() async throws {
        var users = Self.users(["a": ["A"], "w": ["*"]])
        let gateway = try await gateway(users)
        for (id, channel) in [("1", "A"), ("2", "B"), ("3", "B")] {
            _ = try await gateway.answer("PUT", "/open/\(id)", "{\"channels\":\"\(channel)\"}", fields: Self.basic("w"))
        }
        #expect(try await rows(gateway, "a") == ["2 _user/a", "4 1"])
        users.accounts["a"]?.channels = ["A", "B"]
        try await gateway.router.accounts.replace(with: users)
        _ = try await gateway.answer("PUT", "/open/4", #"{"channels":"B"}"#, fields: Self.basic("w"))
        #expect(try await rows(gateway, "a") == ["4 1", "7:5 2", "7:6 3", "7 _user/a", "8 4"])
        #expect(try await rows(gateway, "a", "since=4") == ["7:5 2", "7:6 3", "7 _user/a", "8 4"])
        #expect(try await rows(gateway, "a", "since=7:5") == ["7:6 3", "7 _user/a", "8 4"])
        #expect(try await rows(gateway, "a", "since=7") == ["8 4"])
        let cut = try await gateway.answer("GET", "/open/_changes?since=4&limit=1", fields: Self.basic("a")).text
        #expect(cut.hasSuffix("],\n\"last_seq\":\"7:5\"}\n"))
    }

    /// - Note: Source: tried on Sync Gateway 4.1.1.
    @Test(arguments: ["A", "*"]) func olderTombstonesAreNotDueAtTheGrant(channel: String) async throws {
        var users = Self.users(["a": [], "w": ["*"]])
        let gateway = try await gateway(users)
        for id in ["1", "2"] {
            _ = try await gateway.answer("PUT", "/open/\(id)", #"{"channels":"A"}"#, fields: Self.basic("w"))
        }
        let revision = try #require(try gateway.store.winner(of: "1")?.revision)
        let tombstone = #"{"_deleted":true,"channels":"A"}"#
        _ = try await gateway.answer("PUT", "/open/1?rev=\(revision)", tombstone, fields: Self.basic("w"))
        users.accounts["a"]?.channels = [channel]
        try await gateway.router.accounts.replace(with: users)
        #expect(try await rows(gateway, "a") == ["7:5 2", "7 _user/a"])
    }

    @Test func grantOfAllChannelsMakesAllDocumentsDue() async throws {
        var users = Self.users(["a": [], "w": ["*"]])
        let gateway = try await gateway(users)
        for id in ["1", "2"] { _ = try await gateway.answer("PUT", "/open/\(id)", "{}", fields: Self.basic("w")) }
        users.accounts["a"]?.channels = ["*"]
        try await gateway.router.accounts.replace(with: users)
        _ = try await gateway.answer("PUT", "/open/3", "{}", fields: Self.basic("w"))
        let all = ["6:4 1", "6:5 2", "6 _user/a", "7 3"]
        for (since, first) in [("0", 0), ("5", 0), ("6:4", 1), ("6:5", 2), ("6", 3), ("7", 4)] {
            #expect(try await rows(gateway, "a", "since=\(since)") == Array(all[first...]))
        }
    }

    @Test func backfillPagesContainEveryDocumentOnce() async throws {
        var users = Self.users(["a": []])
        let gateway = try await gateway(users)
        let docs = (0..<2_300).map { #"{"_id":"d\#($0)","channels":"A"}"# }.joined(separator: ",")
        _ = try await gateway.answer("POST", "/open/_bulk_docs", "{\"docs\":[\(docs)]}", fields: Self.basic("a"))
        users.accounts["a"]?.channels = ["A"]
        try await gateway.router.accounts.replace(with: users)
        let all = try await rows(gateway, "a")
        #expect(all.count == 2_301 && Set(all).count == 2_301)
        #expect(all.last == "2303 _user/a")
    }

    @Test func documentThatLeavesAChannelIsRemovedAndReappears() async throws {
        let gateway = try await gateway(Self.users(["a": ["A", "C"], "w": ["*"]]))
        var revision = ""
        for (channel, expected) in [
            ("A", ["4 d"]), ("C", ["5 d-"]), ("B", ["5 d-", "6 d-"]), ("A", ["6 d-", "7 d"]),
        ] {
            let target = "/open/d" + (revision.isEmpty ? "" : "?rev=\(revision)")
            let put = try await gateway.answer("PUT", target, "{\"channels\":\"\(channel)\"}", fields: Self.basic("w"))
            revision = put.field("Etag")?.filter { $0 != "\"" } ?? ""
            #expect(try await rows(gateway, "a", "since=3") == expected)
        }
        let deleted = try await gateway.answer("DELETE", "/open/d?rev=\(revision)", fields: Self.basic("w"))
        #expect(deleted.status == 200)
        let answer = try await gateway.answer(
            "GET", "/open/_changes?since=3&include_docs=true", fields: Self.basic("a")
        ).text
        #expect(answer.contains(#""deleted":true,"removed":["A"],"doc":{"_id":"d","_rev":"5-"#))
        #expect(try await rows(gateway, "a", "since=3&active_only=true") == [])
    }

    @Test(arguments: [
        ("A", ["2 _user/a", "4 1", "6 3"]), ("B", ["2 _user/a"]), ("A,C", ["2 _user/a", "4 1", "6 3", "7 4"]),
    ])
    func channelsCanBeFiltered(channels: String, expected: [String]) async throws {
        let gateway = try await gateway(Self.users(["a": ["A", "C"], "w": ["*"]]))
        for (id, channel) in [("1", "A"), ("2", "B"), ("3", "A"), ("4", "C")] {
            _ = try await gateway.answer("PUT", "/open/\(id)", "{\"channels\":\"\(channel)\"}", fields: Self.basic("w"))
        }
        let query = "filter=sync_gateway/bychannel&channels=\(channels)"
        #expect(try await rows(gateway, "a", query) == expected)
        #expect(try await rows(gateway, "w", "limit=3") == ["3 _user/w", "4 1", "5 2"])
        let all = try await rows(gateway, "w", "filter=sync_gateway/bychannel&channels=B")
        #expect(all == ["3 _user/w", "5 2"])
    }

    /// A clock that a test advances.
    private final class Clock: Sendable {
        private let seconds = Atomic(1_000_000)
        var now: Int { seconds.load(ordering: .sequentiallyConsistent) }
        func advance(by count: Int) { seconds.add(count, ordering: .sequentiallyConsistent) }
    }

    @Test func sessionLastsADayAndIsRenewed() async throws {
        let clock = Clock()
        let gateway = try TestGateway(sessions: Sessions(now: { clock.now }))
        try await gateway.router.accounts.replace(with: Self.users(["a": ["A"]]))
        let login = try await gateway.answer("POST", "/open/_session", #"{"name":"a","password":"pass"}"#)
        let cookie = try #require(login.field("Set-Cookie"))
        #expect(cookie.wholeMatch(of: /SyncGatewaySession=[0-9a-f]{40}; Path=\/open; Expires=.* GMT/) != nil)
        let fields = [HTTPField("Cookie", "x=y; \(cookie.prefix { $0 != ";" })")]
        #expect(try await gateway.answer("GET", "/open/", fields: fields).field("Set-Cookie") == nil)
        clock.advance(by: 3 * 3_600)
        let renewed = try await gateway.answer("GET", "/open/", fields: fields).field("Set-Cookie")
        #expect(renewed?.prefix { $0 != ";" } == cookie.prefix { $0 != ";" })
        clock.advance(by: 23 * 3_600)
        #expect(try await gateway.answer("GET", "/open/_changes", fields: fields).status == 200)
        clock.advance(by: 24 * 3_600)
        let late = try await gateway.answer("GET", "/open/", fields: fields)
        #expect(late.text == #"{"error":"Unauthorized","reason":"Session Invalid"}"#)
    }

    @Test func loggingOutEndsTheSession() async throws {
        let gateway = try await gateway(Self.users(["a": ["A"]]))
        let login = try await gateway.answer("POST", "/open/_session", fields: Self.basic("a"))
        let cookie = try #require(login.field("Set-Cookie")?.prefix { $0 != ";" })
        let fields = [HTTPField("Cookie", String(cookie))]
        #expect(try await gateway.answer("GET", "/open/_session", fields: fields).text.contains(#""name":"a""#))
        let out = try await gateway.answer("DELETE", "/open/_session", fields: fields)
        #expect(out.field("Set-Cookie")?.hasPrefix("SyncGatewaySession=; Expires=") == true)
        #expect(try await gateway.answer("GET", "/open/", fields: fields).status == 401)
        #expect(try await gateway.answer("GET", "/open/_session", fields: fields).text.contains(#""name":null"#))
    }

    @Test func usersOfAFileSurviveARestart() async throws {
        try await withTemporaryFile { path in
            for _ in 0..<2 {
                let gateway = try TestGateway(storage: .file(path))
                try await gateway.router.accounts.replace(with: Self.users(["a": ["A"], "b": []]))
                #expect(try await rows(gateway, "b") == ["3 _user/b"])
                try gateway.store.close()
            }
        }
    }
}
