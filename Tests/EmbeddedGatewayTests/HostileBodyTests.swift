import HTTPServing
import TestKit
import Testing

@testable import EmbeddedGateway

/// Bodies that are not JSON, or JSON of the wrong type.
@Suite(.limitedParallelism) struct HostileBodyTests {
    private static let places = [
        ("PUT", "/open/x"), ("POST", "/open/"), ("POST", "/open/_bulk_docs"), ("POST", "/open/_bulk_get"),
        ("POST", "/open/_revs_diff"), ("POST", "/open/_all_docs"), ("POST", "/open/_session"),
        ("PUT", "/open/_local/x"),
    ]

    @Test(
        arguments: places,
        [
            ("", "EOF"), ("{", "unexpected EOF"), (#"{"a""#, "unexpected EOF"), (#"{"a":tru"#, "unexpected EOF"),
            (#"{"a":"b"#, "unexpected EOF"), (#"{"a":}"#, "invalid character '}' looking for beginning of value"),
            (#"{a:1}"#, "invalid character 'a' looking for beginning of object key string"),
            (#"{"a" 1}"#, "invalid character '1' after object key"),
            (#"{"a":1 "b":2}"#, "invalid character '\"' after object key:value pair"),
            (#"{"a":[1 2]}"#, "invalid character '2' after array element"),
            ("[]", "json: cannot unmarshal array into Go value of type db.Body"),
            (#""x""#, "json: cannot unmarshal string into Go value of type db.Body"),
            ("7", "json: cannot unmarshal number into Go value of type db.Body"),
        ])
    func bodyThatIsNotAnObjectIsRefusedEverywhere(place: (String, String), text: (String, String)) async throws {
        let answer = try await TestGateway().answer(place.0, place.1, text.0)
        let reason = text.1.replacing("\"", with: "\\\"")
        #expect(answer.text == #"{"error":"Bad Request","reason":"Bad JSON: \#(reason)"}"#)
        #expect(answer.status == 400)
    }

    @Test(arguments: [
        (#"{"since":{},"limit":"x"}"#, #"Invalid sequence: \"{}\""#),
        (#"{"limit":"x","since":[1]}"#, #"Invalid sequence: \"[1]\""#),
        (#"{"feed":1}"#, unmarshal("number", "feed", "string")),
        (#"{"feed":"eventsource"}"#, "Unknown feed type"),
        (#"{"limit":"5"}"#, unmarshal("string", "limit", "int")),
        (#"{"limit":1.5}"#, unmarshal("number 1.5", "limit", "int")),
        (#"{"limit":99999999999999999999}"#, unmarshal("number 99999999999999999999", "limit", "int")),
        (#"{"heartbeat":-1}"#, unmarshal("number -1", "heartbeat", "uint64")),
        (#"{"timeout":true}"#, unmarshal("bool", "timeout", "uint64")),
        (#"{"include_docs":"true"}"#, unmarshal("string", "include_docs", "bool")),
        (#"{"active_only":1}"#, unmarshal("number", "active_only", "bool")),
        (#"{"style":[]}"#, unmarshal("array", "style", "string")),
        (#"{"filter":{}}"#, unmarshal("object", "filter", "string")),
        (#"{"channels":["A"]}"#, unmarshal("array", "channels", "string")),
        (#"{"doc_ids":"a"}"#, unmarshal("string", "doc_ids", "[]string")),
        (#"{"doc_ids":["a",7]}"#, unmarshal("number", "doc_ids", "string")),
        (#"{"version_type":{}}"#, unmarshal("object", "version_type", "string")),
        ("[]", #"Invalid JSON: \"json: cannot unmarshal array into Go value of type struct\""#),
        ("{\"a\":", #"Invalid JSON: \"unexpected end of JSON input\""#),
    ])
    func feedSettingsMustHaveTheRightTypes(body: String, reason: String) async throws {
        let answer = try await TestGateway().answer("POST", "/open/_changes", body)
        #expect(answer.text == #"{"error":"Bad Request","reason":"\#(reason)"}"#)
    }

    private static func unmarshal(_ kind: String, _ name: String, _ type: String) -> String {
        #"Invalid JSON: \"json: cannot unmarshal \#(kind) into Go struct field .\#(name) of type \#(type)\""#
    }

    @Test(arguments: ["null", "{}", #"{"since":null,"limit":null,"feed":null,"doc_ids":null,"other":{}}"#])
    func emptyFeedSettingsAreIgnored(body: String) async throws {
        #expect(try await TestGateway().answer("POST", "/open/_changes", body).status == 200)
    }

    @Test(arguments: [
        // Values in place of a document.
        (#"{"_id":7}"#, 201), (#"{"_deleted":"x"}"#, 201), (#"{"_attachments":"x"}"#, 201),
        (#"{"_attachments":[1]}"#, 201), (#"{"_attachments":{"a":1}}"#, 400), (#"{"_attachments":{"a":{}}}"#, 400),
        (#"{"_attachments":{"a":{"data":7}}}"#, 400), (#"{"_attachments":{"a":{"data":"="}}}"#, 500),
        (#"{"_attachments":{"a":{"stub":"x"}}}"#, 400), (#"{"_attachments":{"a":{"follows":true}}}"#, 400),
        (#"{"_attachments":{"a":{"data":"eA==","content_type":7,"revpos":"x"}}}"#, 201),
        (#"{"_revisions":7}"#, 201), (#"{"_revisions":{"start":-1,"ids":[7]}}"#, 201),
        (#"{"_exp":{}}"#, 400), (#"{"channels":{"a":[7]}}"#, 201), (#"{"_sync":1}"#, 400), (#"{"_removed":true}"#, 404),
        (#"{"_rev":"x"}"#, 400), (#"{"_rev":"0-x"}"#, 400), (#"{"_rev":"99999999999999999999-x"}"#, 400),
    ])
    func membersOfAWrongTypeAreRefusedOrIgnored(document: String, status: Int) async throws {
        #expect(try await TestGateway().put("x", document).status == status)
        let bulk = try await TestGateway().answer("POST", "/open/_bulk_docs", "{\"docs\":[\(document)]}")
        #expect(bulk.status == 201)
        #expect(bulk.text.contains(#""status":\#(status)"#) == (status > 201), "\(bulk.text)")
    }

    @Test(arguments: [#"{"_rev":7}"#, #"{"_rev":null}"#, #"{"_cv":{}}"#, #"{"_cv":5,"_rev":"1-a"}"#])
    func namesOfAWrongTypeAreRefusedInASingleWrite(document: String) async throws {
        let answer = try await TestGateway().put("x", document)
        #expect(answer.status == 400)
        #expect(answer.text == #"{"error":"Bad Request","reason":"Invalid version type for OCC value: \"\""}"#)
    }

    @Test(arguments: [
        ("_bulk_docs", #"{"docs":[{"_id":"x","_cv":{}}]}"#, 201), ("_bulk_docs", #"{"docs":null}"#, 400),
        ("_bulk_docs", #"{"docs":{}}"#, 400),
        ("_bulk_docs", #"{"docs":[null]}"#, 400), ("_bulk_docs", #"{"docs":[[]]}"#, 400),
        ("_bulk_docs", #"{"docs":[],"new_edits":"x"}"#, 201), ("_bulk_docs", #"{"docs":[{"_id":"_local/"}]}"#, 201),
        ("_bulk_get", #"{"docs":7}"#, 400),
        ("_bulk_get", #"{"docs":[7,null,{},{"id":7},{"id":"a","rev":7},{"id":"a","atts_since":"x"}]}"#, 200),
        ("_revs_diff", #"{"a":"1-x"}"#, 400), ("_revs_diff", #"{"a":[1]}"#, 400),
        ("_revs_diff", #"{"a":["x",""]}"#, 200),
        ("_all_docs", #"{"keys":null}"#, 400), ("_all_docs", #"{"keys":"a"}"#, 400),
        ("_all_docs", #"{"keys":[{}]}"#, 400), ("_session", #"{"name":7,"password":[]}"#, 401),
        ("_session", #"{"name":"a","password":7}"#, 401),
    ])
    func callMembersMustHaveTheRightTypes(call: String, body: String, status: Int) async throws {
        #expect(try await TestGateway().answer("POST", "/open/\(call)", body).status == status)
    }

    @Test(arguments: [
        ("since=1:2:3:4", 400), ("since=1:", 500), ("since=:1", 400), ("since=%00", 400),
        ("since=18446744073709551616", 400),
        ("since=18446744073709551615", 200), ("since=1:99999999999999999999", 500), ("since=%2B1", 400), ("feed=", 200),
        ("feed=NORMAL", 400), ("limit=-5", 200), ("limit=99999999999999999999", 200), ("limit=x", 200),
        ("heartbeat=-1", 200), ("style=x", 200), ("filter=_doc_ids&doc_ids=%00", 200), ("filter=_view", 400),
        ("filter=sync_gateway/bychannel&channels=", 400), ("filter=sync_gateway/bychannel&channels=,,%00,", 200),
        ("%zz=1&since=%zz", 200),
    ])
    func feedQueriesAreRefusedOrIgnored(query: String, status: Int) async throws {
        #expect(try await TestGateway().answer("GET", "/open/_changes?\(query)").status == status)
    }
}
