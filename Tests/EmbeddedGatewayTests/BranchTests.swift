import GRDB
import HTTPServing
import LosslessJSON
import Testing

@testable import EmbeddedGateway

@Suite struct BranchTests {
    private static let branching = WritingRules(allowsConflicts: true)

    private static func replicated(_ id: String, _ names: String, _ members: String = "") -> String {
        let history = names.split(separator: " ")
        let start = history[0].prefix { $0 != "-" }
        let digests = history.map { "\"\($0.drop { $0 != "-" }.dropFirst())\"" }.joined(separator: ",")
        return
            #"{"_id":"\#(id)","_rev":"\#(history[0])","_revisions":{"start":\#(start),"ids":[\#(digests)]}\#(members)}"#
    }

    @discardableResult
    private func push(_ gateway: TestGateway, _ names: String, _ members: String = "") async throws -> Int? {
        let body = #"{"new_edits":false,"docs":[\#(Self.replicated("a", names, members))]}"#
        let answer = try await gateway.answer("POST", "/open/_bulk_docs", body)
        return SmallJSON(answer.bytes)?.elements?.first?["status"]?.integer
    }

    private func winner(_ gateway: TestGateway) async throws -> String? {
        let answer = try await gateway.answer("GET", "/open/_changes?filter=_doc_ids&doc_ids=a")
        return answer.text.firstMatch(of: /"rev":"([^"]*)"/).map { String($0.1) }
    }

    @Test(arguments: [
        (["1-a", "2-b 1-a", "2-c 1-a"], "2-c"),
        (["1-a", "2-c 1-a", "2-b 1-a"], "2-c"),
        (["1-a", "2-c 1-a", "3-b 2-x 1-a"], "3-b"),
        (["9-z", "10-a 9-y"], "10-a"),
        (["1-a", "1-b", "1-A"], "1-b"),
    ])
    func highestLeafWins(pushed: [String], winning: String) async throws {
        let gateway = try TestGateway(rules: Self.branching)
        for names in pushed { try await push(gateway, names) }
        #expect(try await winner(gateway) == winning)
        let found = try await gateway.answer("GET", "/open/a")
        #expect(found.field("Etag") == "\"\(winning)\"")
    }

    @Test func liveLeafWinsOverATombstone() async throws {
        let gateway = try TestGateway(rules: Self.branching)
        try await push(gateway, "1-a")
        try await push(gateway, "2-b 1-a")
        try await push(gateway, "5-z 4-y 3-x 2-c 1-a", #","_deleted":true"#)
        #expect(try await winner(gateway) == "2-b")
        #expect(try await gateway.answer("DELETE", "/open/a?rev=2-b").status == 200)
        #expect(try await winner(gateway) == "5-z")
        #expect(try await gateway.answer("GET", "/open/a").text == #"{"error":"not_found","reason":"deleted"}"#)
    }

    @Test func anyLeafMayBeContinuedIfConflictsAreAllowed() async throws {
        let gateway = try TestGateway(rules: Self.branching)
        for names in ["1-a", "2-b 1-a", "2-c 1-a"] { try await push(gateway, names) }
        #expect(try await gateway.put("a?rev=2-b", #"{"v":1}"#).status == 201)
        #expect(try await gateway.put("a?rev=2-b", #"{"v":2}"#).status == 409)
        #expect(try await gateway.put("a?rev=1-a", #"{"v":2}"#).status == 409)
        #expect(try await winner(gateway)?.hasPrefix("3-") == true)
        let all = try await gateway.answer("GET", "/open/_changes?style=all_docs&since=1")
        #expect(all.text.contains(#"},{"rev":"2-c"}]"#))
    }

    @Test(arguments: [
        ("2-c 1-a", "", 409 as Int?), ("3-d 2-c 1-a", "", 409), ("2-x", "", 409), ("3-c 2-b 1-a", "", nil),
        ("2-b 1-a", "", nil), ("1-a", "", nil), ("3-t 1-a", #","_deleted":true"#, 409),
        ("2-t 1-a", #","_deleted":true"#, 409),
    ])
    func conflictsAreRefusedByDefault(names: String, members: String, status: Int?) async throws {
        let gateway = try TestGateway()
        try await push(gateway, "2-b 1-a")
        #expect(try await push(gateway, names, members) == status)
    }

    @Test func deletedDocumentMayBeRecreated() async throws {
        let gateway = try TestGateway()
        try await push(gateway, "2-b 1-a", #","_deleted":true"#)
        #expect(try await push(gateway, "2-x 1-a") == 409)
        #expect(try await push(gateway, "1-n") == nil)
        #expect(try await winner(gateway) == "1-n")
    }

    @Test func branchesOfADocumentAreListed() async throws {
        let gateway = try TestGateway(rules: Self.branching)
        for names in ["2-b 1-a", "2-c 1-a"] { try await push(gateway, names, #","v":1"#) }
        let json = [HTTPField("Accept", "application/json")]
        let versioned = try await gateway.answer("GET", "/open/a?open_revs=all&revs=true", fields: json).text
        let all = versioned.replacing(/"_cv":"[^"]*",/, with: "")
        #expect(
            all == """
                [
                {"ok":{"_id":"a","_rev":"2-b","_revisions":{"ids":["b","a"],"start":2},"v":1}}
                ,{"ok":{"_id":"a","_rev":"2-c","_revisions":{"ids":["c","a"],"start":2},"v":1}}
                ]
                """)
        let some = try await gateway.answer("GET", "/open/a?open_revs=%5B%222-c%22,%221-a%22%5D", fields: json).text
        #expect(some.contains(#"{"missing":"1-a"}"#))
        let parts = try await gateway.answer("GET", "/open/a?open_revs=all")
        #expect(parts.field("Content-Type")?.hasPrefix("multipart/mixed; boundary=\"") == true)
        for (query, status) in ["open_revs=x": 400, "open_revs=all&rev=2-b": 400] {
            #expect(try await gateway.answer("GET", "/open/a?\(query)").status == status)
        }
        #expect(try await gateway.answer("GET", "/open/nothing?open_revs=all").status == 404)
    }

    @Test(arguments: [
        (#"{"a":["2-b","2-c","1-a"]}"#, "{}"),
        (#"{"a":["3-x"]}"#, "{\"a\":{\"missing\":[\"3-x\"],\"possible_ancestors\":[\"2-b\",\"2-c\"]}\n}"),
        (#"{"a":["2-x","2-b"]}"#, "{\"a\":{\"missing\":[\"2-x\"],\"possible_ancestors\":[\"1-a\"]}\n}"),
        (#"{"n":["1-x"],"a":["1-x"]}"#, "{\"n\":{\"missing\":[\"1-x\"]}\n,\n\"a\":{\"missing\":[\"1-x\"]}\n}"),
    ])
    func missingRevisionsAreReported(asked: String, answer: String) async throws {
        let gateway = try TestGateway(rules: Self.branching)
        for names in ["2-b 1-a", "2-c 1-a"] { try await push(gateway, names) }
        #expect(try await gateway.answer("POST", "/open/_revs_diff", asked).text == answer)
    }

    @Test(arguments: [("revs_limit=2", "3,2"), ("revs_limit=9", "3,2,1"), ("revs_from=%5B%222-b%22%5D", "3,2")])
    func historyEndsAtARevisionThatTheClientHas(query: String, generations: String) async throws {
        let gateway = try TestGateway()
        try await push(gateway, "3-c 2-b 1-a")
        let names = ["1": "a", "2": "b", "3": "c"]
        let ids = generations.split(separator: ",").compactMap { names[String($0)] }.map { "\"\($0)\"" }
        let answer = try await gateway.answer("GET", "/open/a?revs=true&\(query)").text
        #expect(answer.contains(#""ids":[\#(ids.joined(separator: ","))],"start":3"#))
    }
}
