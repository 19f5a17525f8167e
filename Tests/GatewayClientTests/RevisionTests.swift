import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct BulkGetTests {
    private static let refusal = #"{"error":"not_found","id":"no","reason":"missing","rev":"9-zz","status":404}"#
    private static let multipart =
        "--73\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\",\"n\":1.10}\r\n"
        + "--73\r\nContent-Type: application/json; error=\"true\"\r\n\r\n\(refusal)\r\n"
        + "--73\r\nContent-Type: multipart/related; boundary=\"674\"\r\nX-Doc-Id: b\r\n\r\n"
        + "--674\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"b\"}\r\n"
        + "--674\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"f.txt\"\r\n\r\n12345\r\n"
        + "--674--\r\n--73--\r\n"
    private static let json =
        #"{"results":[{"id":"a","docs":[{"ok":{"_id":"a","n":1.10}}]},{"id":"no","docs":[{"error":"#
        + #"{"rev":"undefined","reason":"missing","id":"no","error":"not_found"}}]}]}"#

    private func facts(_ answer: BulkGetAnswer) async throws -> [String] {
        var answer = answer
        var facts: [String] = []
        while let item = try await answer.next() {
            switch item {
            case .revision(let text): facts.append(String(decoding: text.bytes, as: UTF8.self))
            case .attachment(let part):
                facts.append(
                    "\(part.name ?? "-") \(part.contentType ?? "-") \(String(decoding: part.bytes, as: UTF8.self))")
            case .unavailable(let refusal):
                facts.append("\(refusal.id) \(refusal.revision?.text ?? "-") \(refusal.error) \(refusal.status ?? 0)")
            case .malformed(let damage): facts.append("malformed \(damage.id?.text ?? "-")")
            }
        }
        return facts
    }

    @Test func syncGatewayAnswersInParts() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_bulk_get?revs=true&attachments=true")
            #expect(request.values(of: "accept") == ["multipart/mixed"])
            #expect(request.text == #"{"docs":[{"id":"a"},{"id":"no","rev":"9-zz"},{"id":"b"}]}"#)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary=\"73\"\r\n")
            try connection.write("Connection: close\r\n\r\n")
            try connection.writeByteByByte(Self.multipart)
            throw EndOfScript()
        }
        let keys = [
            BulkGetKey(id: "a"), BulkGetKey(id: "no", revision: RevisionID("9-zz")), BulkGetKey(id: "b"),
        ]
        let answer = try await scripted.gateway.bulkGet(keys, includesHistory: true, includesAttachments: true)
        #expect(
            try await facts(answer) == [
                #"{"_id":"a","n":1.10}"#, "no 9-zz not_found 404", #"{"_id":"b"}"#, "f.txt text/plain 12345",
            ])
    }

    @Test func couchDBAnswersInJSON() async throws {
        var settings = GatewaySettings()
        settings.dialect = .couchDB
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            #expect(request.values(of: "accept") == ["application/json"])
            try connection.answer(headers: couchDB, body: Self.json)
        }
        let answer = try await scripted.gateway.bulkGet([BulkGetKey(id: "a"), BulkGetKey(id: "no")])
        #expect(try await facts(answer) == [#"{"_id":"a","n":1.10}"#, "no - not_found 0"])
    }

    /// Regression: one such revision ended the whole answer.
    @Test(arguments: [
        (
            "multipart/mixed; boundary=\"73\"",
            "--73\r\n\r\n{oops\r\n--73\r\n\r\n{\"_id\":\"b\"}\r\n--73\r\nX-Doc-ID: c\r\n\r\n[1,]\r\n--73--",
            ["malformed -", #"{"_id":"b"}"#, "malformed c"]
        ),
        (
            "application/json",
            #"{"results":[{"id":"a","docs":[{"ok":{"_id":"a","n":01}}]},{"id":"b","docs":[{"ok":{"_id":"b"}}]},"#
                + #"{"id":"c"}]}"#, ["malformed a", #"{"_id":"b"}"#, "malformed c"]
        ),
    ])
    func invalidJSONRevisionIsReported(type: String, body: String, expected: [String]) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: ["Content-Type: \(type)"], body: body)
        }
        let answer = try await scripted.gateway.bulkGet([BulkGetKey(id: "a")])
        #expect(try await facts(answer) == expected)
    }

    /// Regression: each arriving piece was copied together with all earlier ones.
    @Test(arguments: [false, true]) func longRevisionArrivesInManyPieces(isMultipart: Bool) async throws {
        let text = #"{"_id":"a","x":"\#(String(repeating: "0123456789", count: 600_000))"}"#
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                headers: ["Content-Type: \(isMultipart ? "multipart/mixed; boundary=73" : "application/json")"],
                body: isMultipart
                    ? "--73\r\n\r\n\(text)\r\n--73--" : #"{"results":[{"id":"a","docs":[{"ok":\#(text)}]}]}"#)
        }
        let found = try await facts(try await scripted.gateway.bulkGet([BulkGetKey(id: "a")]))
        #expect(found.map(\.utf8.count) == [text.utf8.count])
    }

    @Test(arguments: [
        ("multipart/mixed; boundary=\"73\"", String(multipart.prefix(60)), "connectionLost"),
        ("multipart/mixed; boundary=\"73\"", String(multipart.dropLast(8)), "connectionLost"),
        (
            "multipart/mixed; boundary=\"73\"",
            "--73\r\nContent-Type: multipart/related; boundary=4\r\n\r\n--4\r\n\r\n{}\r\n--73--", "malformedAnswer"
        ),
        ("application/json", String(json.prefix(60)), "connectionLost"),
        ("text/html", "<html>", "malformedAnswer"),
    ])
    func truncatedOrForeignAnswerIsError(type: String, body: String, code: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: ["Content-Type: \(type)"], body: body)
        }
        let answer = try await scripted.gateway.bulkGet([BulkGetKey(id: "a")])
        let error = await #expect(throws: GatewayError.self) { try await facts(answer) }
        #expect(error?.code.description == code)
    }
}

@Suite(.limitedParallelism) struct RevisionTests {
    @Test func differencesHaveOrderOfRequest() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.text == #"{"t1":["1-a","2-b"],"new":["1-a"],"known":["1-x"]}"#)
            try connection.answer(
                headers: ["Content-Type: text/plain"],
                body: "{\"new\":{\"missing\":[\"1-a\"]}\n,\n\"t1\":"
                    + "{\"missing\":[\"2-b\"],\"possible_ancestors\":[\"1-a\"]}\n}")
        }
        func revisions(_ texts: String...) -> [RevisionID] { texts.map(RevisionID.init) }
        let differences = try await scripted.gateway.revisionDifferences([
            ("t1", revisions("1-a", "2-b")), ("new", revisions("1-a")), ("known", revisions("1-x")),
        ])
        #expect(
            differences == [
                RevisionDifference(id: "t1", missing: revisions("2-b"), possibleAncestors: revisions("1-a")),
                RevisionDifference(id: "new", missing: revisions("1-a"), possibleAncestors: []),
                RevisionDifference(id: "known", missing: [], possibleAncestors: []),
            ])
    }

    /// As answered by Sync Gateway 4.1.1.
    @Test func goQuotedIDsOfSyncGatewayAreRead() async throws {
        let ids = ["a\u{7f}b", "c\u{e0067}d", "x\u{0}y", "q\"\\\n\u{85}\u{b}\u{7}é", "plain"]
        let scripted = try ScriptedGateway { connection, request in
            try connection.answer(
                headers: ["Content-Type: text/plain"],
                body: #"""
                    {"a\x7fb":{"missing":["1-a"]}
                    ,
                    "c\U000e0067d":{"missing":["1-a"]}
                    ,
                    "x\x00y":{"missing":["1-a"]}
                    ,
                    "q\"\\\n\u0085\v\aé":{"missing":["1-a"]}
                    }
                    """#)
        }
        let differences = try await scripted.gateway.revisionDifferences(
            ids.map { (DocumentID($0), [RevisionID("1-a")]) })
        #expect(differences.map(\.missing.count) == [1, 1, 1, 1, 0])
    }

    @Test(arguments: [
        (couchDB, "[]", [BulkOutcome.written(RevisionID("2-b")), .written(RevisionID("2-c"))]),
        (
            couchDB, #"[{"id":"c1","rev":"2-c","error":"forbidden","reason":"no"}]"#,
            [.written(RevisionID("2-b")), .rejected(status: 403, reason: "forbidden: no")]
        ),
        (
            syncGateway,
            #"[{"id":"c1","rev":"2-b"},{"error":"conflict","id":"c1","reason":"Document revision conflict","status":409}]"#,
            [.written(RevisionID("2-b")), .conflict]
        ),
        (syncGateway, "[]", [.unmentioned, .unmentioned]),
    ])
    func eachStoredRevisionHasOutcome(headers: [String], answer: String, outcomes: [BulkOutcome]) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.text == "{\"new_edits\":false,\"docs\":[{\"_rev\":\"2-b\"},\n{\"_rev\":\"2-c\"}]}")
            try connection.answer(201, headers: headers, body: answer)
        }
        let revisions = ["2-b", "2-c"].map { revision in
            RevisionToStore(
                BulkDocument(id: "c1", segments: [Array("{\"_rev\":\"\(revision)\"}".utf8)]),
                revision: RevisionID(revision))
        }
        #expect(try await scripted.gateway.storeRevisions(revisions) == outcomes)
    }

    @Test func leavesAreReadWithBodies() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/c1?open_revs=%5B%222-b%22%2C%227-z%22%5D")
            try connection.answer(
                headers: syncGateway, body: "[\n{\"ok\":{\"_id\":\"c1\",\"n\":1.10}}\n,{\"missing\":\"7-z\"}\n]")
        }
        let leaves = try await scripted.gateway.openRevisions(of: "c1", [RevisionID("2-b"), RevisionID("7-z")])
        guard leaves.count == 2, case .found(let body) = leaves[0], case .missing(let revision) = leaves[1] else {
            Issue.record("\(leaves)")
            return
        }
        #expect(String(decoding: body.bytes, as: UTF8.self) == #"{"_id":"c1","n":1.10}"#)
        #expect(revision.text == "7-z")
    }

    @Test func documentContainsRequestedParts() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/c1?revs=true&conflicts=true&rev=2-c")
            try connection.answer(headers: couchDB, body: #"{"_id":"c1","_conflicts":["2-b"]}"#)
        }
        let document = try await scripted.gateway.document(
            "c1", revision: RevisionID("2-c"), with: [.history, .conflicts])
        #expect(document?.root["_conflicts"]?.element(0)?.string == "2-b")
    }
}
