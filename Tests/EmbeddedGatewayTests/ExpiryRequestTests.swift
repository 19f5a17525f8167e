import LosslessJSON
import SyncFunctions
import TestKit
import Testing

@testable import EmbeddedGateway

/// `_exp` and `expiry` as Sync Gateway 4.1.1 reads them.
@Suite(.limitedParallelism) struct ExpiryRequestTests {
    private static let layout = #"\"2006-01-02T15:04:05Z07:00\""#

    @Test(arguments: [
        (
            #""1h""#,
            #"Unable to parse expiry 1h as either numeric or date expiry: parsing time \"1h\" as \#(layout): "#
                + #"cannot parse \"1h\" as \"2006\""#
        ),
        (
            #""2030-01-01""#,
            #"Unable to parse expiry 2030-01-01 as either numeric or date expiry: parsing time \"2030-01-01\" as "#
                + #"\#(layout): cannot parse \"\" as \"T\""#
        ),
        (
            #""2030-01-01T00:00:60Z""#,
            "Unable to parse expiry 2030-01-01T00:00:60Z as either numeric or date expiry: "
                + #"parsing time \"2030-01-01T00:00:60Z\": second out of range"#
        ),
        ("-5", "Expiry value is not within valid range: -5"), (#""-5""#, "Expiry value is not within valid range: -5"),
        ("4294967296", "Expiry value is not within valid range: 4294967296"),
        (#""2200-01-01T00:00:00Z""#, "Expiry value is not within valid range: 7258118400"),
        (#"{"a":1}"#, "Unrecognized expiry format"), ("true", "Unrecognized expiry format"),
        ("1e3", #"strconv.ParseInt: parsing \"1e3\": invalid syntax"#),
        ("9223372036854775808", #"strconv.ParseInt: parsing \"9223372036854775808\": value out of range"#),
    ])
    func invalidExpiryIsRefused(expiry: String, reason: String) async throws {
        let gateway = try TestGateway()
        let document = #"{"_id":"a","_exp":\#(expiry)}"#
        let put = try await gateway.put("a", document)
        #expect(put.status == 400)
        #expect(put.text == #"{"error":"Bad Request","reason":"Invalid expiry: \#(reason)"}"#)
        let rows = try await gateway.answer("POST", "/open/_bulk_docs", #"{"docs":[\#(document)]}"#)
        #expect(
            rows.text == #"[{"error":"bad_request","id":"a","reason":"Invalid expiry: \#(reason)","status":400}]"#)
        #expect(try gateway.store.winner(of: "a") == nil)
    }

    @Test(arguments: [
        ("null", nil), ("0", nil), (#""0""#, nil), ("4294967295", "2106-02-07T06:28:15Z"),
        (#""2147483647""#, "2038-01-19T03:14:07Z"), (#""2030-01-01T00:00:00.5Z""#, "2030-01-01T00:00:00Z"),
        (#""2030-01-01T0:00:00+01:00""#, "2029-12-31T23:00:00Z"),
    ])
    func validExpiryIsStored(expiry: String, time: String?) async throws {
        let gateway = try TestGateway()
        #expect(try await gateway.put("a", #"{"_exp":\#(expiry)}"#).status == 201)
        let document = try JSONText(try await gateway.answer("GET", "/open/a?show_exp=true").bytes).root
        #expect(document["_exp"]?.string == time)
    }

    @Test func invalidExpiryOfAReplicatedRevisionIsAnOrdinaryMember() async throws {
        let gateway = try TestGateway()
        let put = try await gateway.answer("PUT", "/open/a?new_edits=false", #"{"_rev":"1-a","_exp":"1h"}"#)
        #expect(put.status == 201)
        #expect(try await gateway.answer("GET", "/open/a").text.contains(#""_exp":"1h""#))
    }

    @Test func invalidRevisionIsNamedBeforeAnInvalidExpiry() async throws {
        let answer = try await TestGateway().put("a", #"{"_rev":"zz","_exp":"1h","_sync":1}"#)
        #expect(answer.text == #"{"error":"Bad Request","reason":"Invalid revision ID"}"#)
    }

    @Test(arguments: [
        (#""2030-01-01""#, "2035-05-05T00:00:00Z"), (#""1h""#, "2035-05-05T00:00:00Z"), ("-1", "2035-05-05T00:00:00Z"),
        ("1900000000.7", "2030-03-17T17:46:40Z"), (#""2030-01-01T00:00:00Z""#, "2030-01-01T00:00:00Z"),
        ("0.5", nil), ("4294967296", "2035-05-05T00:00:00Z"),
    ])
    func functionIgnoresInvalidTimes(argument: String, time: String?) async throws {
        let gateway = try TestGateway()
        gateway.store.function.set(try SyncFunction("function (doc) { channel('!'); expiry(\(argument)); }"))
        #expect(try await gateway.put("a", #"{"_exp":"2035-05-05T00:00:00Z"}"#).status == 201)
        let document = try JSONText(try await gateway.answer("GET", "/open/a?show_exp=true").bytes).root
        #expect(document["_exp"]?.string == time)
    }
}
