import HTTPServing
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

@Suite(.limitedParallelism) struct RequestTests {
    private static let deep = String(repeating: #"{"a":"#, count: 20_000)

    @Test(arguments: [
        ("GET", "/nodb/", "", 401, #"{"error":"Unauthorized","reason":"Login required"}"#),
        (
            "PUT", "/nodb/", "", 403,
            #"{"error":"Forbidden","reason":"Creating a DB over the public API is unsupported"}"#
        ),
        ("PUT", "/open/", "", 412, #"{"error":"Precondition Failed","reason":"Database already exists"}"#),
        ("GET", "/open/_nope", "", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("PUT", "/open/_foo", "{}", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("DELETE", "/open/_changes", "", 405, #"{"error":"Method Not Allowed","reason":""}"#),
        ("GET", "/open.s.c/doc1", "", 404, #"{"error":"not_found","reason":"keyspace open.s.c not found"}"#),
        ("GET", "/open/../open/a", "", 404, #"{"error":"not_found","reason":"missing"}"#),
        ("GET", "/open//", "", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("GET", "/open//a", "", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("GET", "//open/a", "", 401, #"{"error":"Unauthorized","reason":"Login required"}"#),
        ("GET", "/open%2Fa", "", 401, #"{"error":"Unauthorized","reason":"Login required"}"#),
        ("GET", "/open/a/", "", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("GET", "/open/%2e%2e", "", 404, #"{"error":"not_found","reason":"missing"}"#),
        ("GET", "/open/_local/", "", 404, #"{"error":"not_found","reason":"unknown URL"}"#),
        ("GET", "*", "", 400, #"{"error":"Bad Request","reason":"invalid URL escape"}"#),
        (
            "POST", "/open/_changes", "[]", 400,
            #"{"error":"Bad Request","reason":"Invalid JSON: \"json: cannot unmarshal array into Go value of type struct\""}"#
        ),
        (
            "POST", "/open/_bulk_get", #"{"docs":{}}"#, 400,
            #"{"error":"Bad Request","reason":"missing 'docs' property"}"#
        ),
        ("POST", "/open/_all_docs", #"{"keys":[1]}"#, 400, #"{"error":"Bad Request","reason":"Bad/missing keys"}"#),
        ("GET", "/open/%zz", "", 400, #"{"error":"Bad Request","reason":"invalid URL escape"}"#),
        ("PUT", "/open/a%00b", "{}", 400, #"{"error":"Bad Request","reason":"Invalid doc ID"}"#),
        ("GET", "/open/missing", "", 404, #"{"error":"not_found","reason":"missing"}"#),
        ("PUT", "/open/a", "", 400, #"{"error":"Bad Request","reason":"Bad JSON: EOF"}"#),
        ("PUT", "/open/a", #"{"a":"#, 400, #"{"error":"Bad Request","reason":"Bad JSON: unexpected EOF"}"#),
        (
            "PUT", "/open/a?rev=x", "{}", 400,
            #"{"error":"Bad Request","reason":"Invalid version type for OCC value: \"x\""}"#
        ),
        ("DELETE", "/open/a?rev=1-abc", "", 409, #"{"error":"conflict","reason":"Document revision conflict"}"#),
        ("POST", "/open/_bulk_docs", "{}", 400, #"{"error":"Bad Request","reason":"missing 'docs' property"}"#),
        ("GET", "/open/_changes?since=abc", "", 400, #"{"error":"Bad Request","reason":"Invalid sequence: \"abc\""}"#),
        ("GET", "/open/_changes?since=-1", "", 400, #"{"error":"Bad Request","reason":"Invalid sequence: \"-1\""}"#),
        (
            "GET", "/open/_changes?since=12:", "", 500,
            #"{"error":"Internal Server Error","reason":"Internal error: strconv.ParseUint: parsing \"\": invalid syntax"}"#
        ),
        ("GET", "/open/_changes?feed=eventsource", "", 400, #"{"error":"Bad Request","reason":"Unknown feed type"}"#),
        (
            "POST", "/open/_changes", "{", 400,
            #"{"error":"Bad Request","reason":"Invalid JSON: \"unexpected end of JSON input\""}"#
        ),
    ])
    func errorsEqualTheRealGateways(
        method: String, target: String, body: String, status: Int, answer: String
    ) async throws {
        let answered = try await TestGateway().answer(method, target, body)
        #expect(answered.status == status)
        #expect(answered.text == answer)
    }

    @Test(arguments: [
        "{\"a\":\u{0}}", "\u{FEFF}{}", "nul", "{\"_revisions\":{\"start\":9223372036854775807,\"ids\":[\"a\"]}}", deep,
        "{\"_attachments\":{\"\":{\"data\":\"=\"}}}", "{\"_id\":null,\"_rev\":7,\"_deleted\":\"x\"}",
    ])
    func badInputDoesNotCrash(body: String) async throws {
        let gateway = try TestGateway()
        for target in ["/open/x", "/open/x?new_edits=false", "/open/_local/x", "/open/x/att?rev=1-x"] {
            #expect(try await gateway.answer("PUT", target, body).status >= 200)
        }
        for target in ["/open/", "/open/_bulk_docs", "/open/_changes", "/open/_all_docs"] {
            #expect(try await gateway.answer("POST", target, body).status >= 200)
        }
        #expect(try await gateway.answer("POST", "/open/_bulk_docs", "{\"docs\":[\(body)]}").status >= 200)
    }

    @Test func documentIsReturnedByteForByte() async throws {
        let gateway = try TestGateway()
        let body = #"{"z": 1.10, "a" :12345678901234567890123,"u":"\u00e9\/","n":{"z":1,"a":[ 1 ]}}"#
        try await gateway.put("a", body)
        let inner = body.dropFirst().dropLast()
        #expect(try await gateway.answer("GET", "/open/a").text.hasSuffix(",\(inner)}"))
        for path in ["_changes", "_all_docs"] {
            let rows = try await gateway.answer("GET", "/open/\(path)?include_docs=true").text
            #expect(rows.contains("{\(inner),\"_id\":"))
        }
    }

    @Test func localDocumentsOfABatchAreWrittenLast() async throws {
        let gateway = try TestGateway()
        let batch = #"{"docs":[{"_id":"_local/x","v":1},{"_id":"a"},{"_id":"_local/x","v":2}]}"#
        let answer = try await gateway.answer("POST", "/open/_bulk_docs", batch)
        let conflict = #"{"error":"conflict","id":"_local/x","reason":"Document update conflict","status":409}"#
        #expect(answer.text.hasSuffix(#"},{"id":"_local/x","rev":"0-1"},\#(conflict)]"#), "\(answer.text)")
        #expect(try await gateway.answer("GET", "/open/_local/x").text == #"{"_id":"_local/x","_rev":"0-1","v":1}"#)
        #expect(try await gateway.answer("GET", "/open/_changes?since=1").text.contains(#""last_seq":"2""#))
    }

    @Test func rowIsOneLine() async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", "{\r\n  \"x\": \"\\n\"\n}")
        let feed = try await gateway.answer("GET", "/open/_changes?include_docs=true&since=1&feed=continuous&limit=1")
        #expect(feed.text.filter { $0.isNewline }.count == 1)
        #expect(feed.text.contains(#""x": "\n""#))
    }

    @Test func documentIsWrittenReadReplacedAndDeleted() async throws {
        let gateway = try TestGateway()
        let first = try await gateway.put("a%2Fb", #"{"a":1}"#)
        #expect(first.status == 201)
        #expect(first.field("Etag") == "\"1-36de1e87058203f406bd6a3842c45ef0\"")
        #expect(try await gateway.put("a%2Fb", "{}").status == 409)
        let target = "/open/a%2Fb"
        let match = HTTPField("If-Match", "\"1-36de1e87058203f406bd6a3842c45ef0\"")
        #expect(try await gateway.answer("PUT", target, #"{"a":2}"#, fields: [.json, match]).status == 201)
        let second = try await gateway.answer("GET", target + "?revs=true")
        #expect(second.text.contains(#""_revisions":{"ids":["#))
        let revision = try #require(second.field("Etag")?.filter { $0 != "\"" })
        #expect(try await gateway.answer("DELETE", target).text == #"{"error":"conflict","reason":"Document exists"}"#)
        #expect(try await gateway.answer("DELETE", target + "?rev=\(revision)").status == 200)
        #expect(try await gateway.answer("GET", target).text == #"{"error":"not_found","reason":"deleted"}"#)
        #expect(try await gateway.put("a%2Fb", #"{"a":3}"#).text.contains(#""rev":"4-"#))
    }

    @Test func sinceAcceptsEverySequenceForm() throws {
        let forms = [
            "16": 16, "\"16\"": 16, "29:13": 28, "\"29:13\"": 28, "10::14": 10, "99::5": 5, "4:11:8": 4, "12:11:8": 10,
            "": 0,
        ]
        for (text, sequence) in forms { #expect(try FeedPosition(text).plainSequence == sequence) }
    }

    @Test func limitsEqualTheRealGateways() async throws {
        let gateway = try TestGateway()
        #expect(try await gateway.put(String(repeating: "i", count: 250), "{}").status == 201)
        #expect(try await gateway.put(String(repeating: "i", count: 251), "{}").text.contains("Invalid doc ID"))
        let most = [UInt8](repeating: 0x78, count: IncomingAttachment.limit)
        #expect(try IncomingAttachment(name: "x", bytes: most, contentType: nil).name == "x")
        #expect(throws: RequestError.attachmentTooLarge) {
            try IncomingAttachment(name: "x", bytes: most + [0x78], contentType: nil)
        }
    }

    @Test func eachDocumentOfABatchHasItsOwnOutcome() async throws {
        let gateway = try TestGateway()
        let body = #"""
            {"docs":[{"_id":"a","v":1},{"_id":"a"},{"_id":"b","_attachments":{"x":{"data":"***"}}},{"_id":"","v":1},
            {"_id":"c","_rev":"1-x"},{"_id":"_d"},{"_id":"a","_rev":"1-7872796cf808575a89b75936e3d04bc5","_deleted":true}]}
            """#
        let answer = try await gateway.answer("POST", "/open/_bulk_docs", body)
        #expect(answer.status == 201)
        let rows = try #require(SmallJSON(answer.bytes)?.elements)
        #expect(rows.map { $0["status"]?.integer } == [nil, 409, 500, 400, 409, 400, nil])
        #expect(rows.map { $0["id"]?.string } == ["a", "a", "b", nil, "c", "_d", "a"])
        #expect(rows[1]["reason"]?.string == "Document exists")
        #expect(rows[6]["rev"]?.string?.hasPrefix("2-") == true)
        #expect(try await gateway.answer("GET", "/open/_changes?active_only=true").text.contains(#""id":"a""#) == false)
    }

    @Test func localDocumentsCountTheirRevisions() async throws {
        let gateway = try TestGateway()
        let target = "/open/_local/cp1"
        let first = try await gateway.answer("PUT", target, #"{"l":1}"#)
        #expect(first.text == #"{"id":"_local/cp1","ok":true,"rev":"0-1"}"#)
        #expect(try await gateway.answer("PUT", target, #"{"l":1}"#).status == 409)
        #expect(try await gateway.answer("PUT", target, #"{"_rev":"0-1","l":2}"#).text.contains(#""rev":"0-2""#))
        #expect(try await gateway.answer("GET", target).text == #"{"_id":"_local/cp1","_rev":"0-2","l":2}"#)
        #expect(try await gateway.answer("DELETE", target).status == 409)
        #expect(try await gateway.answer("DELETE", target + "?rev=0-2").status == 200)
        #expect(try await gateway.answer("GET", target).status == 404)
        #expect(try await gateway.answer("GET", "/open/_changes").text.contains("cp1") == false)
    }

    @Test func keysAreAnsweredInOrder() async throws {
        let gateway = try TestGateway()
        for id in ["b", "a", "c"] { try await gateway.put(id, "{}") }
        let keys = try await gateway.answer("POST", "/open/_all_docs", #"{"keys":["c","x","a"]}"#).text
        let rows = keys.split(separator: "\n").dropFirst().prefix(3).map { $0.prefix(10) }
        #expect(rows == [#"{"key":"c""#, #",{"key":"x"#, #",{"key":"a"#])
        let range = try await gateway.answer("GET", "/open/_all_docs?startkey=%22b%22&limit=1").text
        #expect(range.contains(#""id":"b""#) && range.hasSuffix("],\n\"total_rows\":1,\"update_seq\":4}"))
    }

    @Test func attachmentIsPutReadInPartsAndDeleted() async throws {
        let gateway = try TestGateway()
        let png = [HTTPField("Content-Type", "image/png")]
        let put = try await gateway.answer("PUT", "/open/a/x/y.png", "abcdef", fields: png)
        let revision = try #require(put.field("Etag")?.filter { $0 != "\"" })
        #expect(try await gateway.answer("GET", "/open/a/x/y.png").text == "abcdef")
        for (range, text) in ["bytes=2-": "cdef", "bytes=1-2": "bc", "bytes=-2": "ef", "bytes=5-99": "f"] {
            let part = try await gateway.answer("GET", "/open/a/x/y.png", fields: [HTTPField("range", range)])
            #expect(part.status == 206 && part.text == text)
        }
        for range in ["bytes=9-", "bytes=-0", "bytes=99999999999999999999-"] {
            let fields = [HTTPField("Range", range)]
            #expect(try await gateway.answer("GET", "/open/a/x/y.png", fields: fields).status == 416)
        }
        for range in ["bytes=0-99", "bytes=--9223372036854775808", "bytes=-", "bytes=3-1", "bytes=1-2,4-5"] {
            let fields = [HTTPField("Range", range)]
            #expect(try await gateway.answer("GET", "/open/a/x/y.png", fields: fields).status == 200)
        }
        #expect(try await gateway.answer("PUT", "/open/a/z", "1", fields: png).status == 409)
        #expect(try await gateway.answer("DELETE", "/open/a/x/y.png?rev=\(revision)").status == 200)
        #expect(try await gateway.answer("GET", "/open/a/x/y.png").status == 404)
    }
}
