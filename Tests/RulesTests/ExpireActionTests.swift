import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct ExpireActionTests {
    /// 2026-11-20T10:00:00Z.
    private static let now = 1_795_168_800

    private func decide(_ expire: String, _ document: String) async throws -> Decision {
        let set = try ruleSet(lines: "name: a, when: {x: 1}, then: [expire: \(expire)]")
        let input = DecisionInput(try JSONText(document))
        return try #require(await set.makeDecider().decide(on: [input], now: Self.now).first)
    }

    @Test(arguments: [
        ("30d", #"{"x":1}"#, #"{"x":1,"_exp":"2026-12-20T10:00:00Z"}"#),
        ("90m", #"{"x":1}"#, #"{"x":1,"_exp":"2026-11-20T11:30:00Z"}"#),
        ("2027-01-31T01:00:00+01:00", #"{"x":1}"#, #"{"x":1,"_exp":"2027-01-31T00:00:00Z"}"#),
        ("2027-01-31", #"{"x":1}"#, #"{"x":1,"_exp":"2027-01-31T00:00:00Z"}"#),
        ("2027-01-31", #"{"x":1,"_exp":"2027-01-30T00:00:00Z"}"#, #"{"x":1,"_exp":"2027-01-31T00:00:00Z"}"#),
        ("never", #"{"x":1,"_exp":"2027-01-31T00:00:00Z"}"#, #"{"x":1}"#),
        ("{jq: '$now + 60'}", #"{"x":1}"#, #"{"x":1,"_exp":"2026-11-20T10:01:00Z"}"#),
        (
            "{jq: '.until'}", #"{"x":1,"until":"2027-01-31T00:00:00Z"}"#,
            #"{"x":1,"until":"2027-01-31T00:00:00Z","_exp":"2027-01-31T00:00:00Z"}"#
        ),
        ("{jq: '\"12h\"'}", #"{"x":1}"#, #"{"x":1,"_exp":"2026-11-20T22:00:00Z"}"#),
        ("{jq: '\"never\"'}", #"{"x":1,"_exp":4000000000}"#, #"{"x":1}"#),
    ])
    func setsOrRemovesTheExpiry(expire: String, document: String, expected: String) async throws {
        let decision = try await decide(expire, document)
        #expect(decision.error == nil)
        #expect(decision.isChanged)
        #expect(decision.document.string == expected)
    }

    @Test(arguments: [
        // A duration applies only to documents without an expiry.
        ("30d", #"{"x":1,"_exp":"2026-11-21T10:00:00Z"}"#),
        ("2027-01-31", #"{"x":1,"_exp":"2027-01-31T00:00:00Z"}"#),
        ("2027-01-31", #"{"x":1,"_exp":"2027-01-31T01:00:00+01:00"}"#),
        ("2027-01-31", #"{"x":1,"_exp":1801353600}"#),
        ("{jq: .until}", #"{"x":1}"#),
        ("{jq: 'empty'}", #"{"x":1,"_exp":1801353600}"#),
        ("never", #"{"x":1}"#),
    ])
    func unchangedExpiryNeedsNoWrite(expire: String, document: String) async throws {
        let decision = try await decide(expire, document)
        #expect(decision.error == nil)
        #expect(!decision.isChanged)
        #expect(decision.document.string == document)
    }

    @Test(arguments: [
        ("{jq: '\"soon\"'}", "expire: the program gives \"soon\", which is not a time"),
        ("{jq: '[1]'}", "expire: the program gives [1], which is not a time"),
        ("{jq: '3600'}", "which is 1970 or before; for a time from now, write it as text with its unit: 30d, 12h"),
        ("{jq: '1795168800000'}", "it must be seconds, so divide milliseconds by 1000"),
        ("{jq: '-5'}", "the program gives -5, which is 1970 or before"),
        ("{jq: '\"2027-02-31\"'}", "which names a day that does not exist; check month and day"),
        ("{jq: '\"2027-01-31T00:00:00\"'}", "which has a time without a zone"),
        ("{jq: '\"1795168800\"'}", "which is a number as text; convert it with tonumber"),
        ("{jq: '\"1d12h\"'}", "it must be seconds since 1970, a date, a time from now such as \"30d\", or \"never\""),
        ("{jq: 'true'}", "it must be seconds since 1970, a date, a time from now such as \"30d\", or \"never\""),
    ])
    func computedValueMustBeATime(expire: String, reason: String) async throws {
        let decision = try await decide(expire, #"{"x":1}"#)
        #expect(decision.error?.reason.contains(reason) == true, "\(decision.error?.reason ?? "no error")")
    }

    @Test(arguments: [
        ("soon", "'expire' is 'soon', which is not a time; write a time from now (30d, 12h)"),
        ("1969-01-01", "'expire' is '1969-01-01', which is 1970 or before"),
        ("2200-01-01", "which is after 2106-02-07"),
        ("3600", "'expire' is 3600, a number without a unit; write 3600d for days, or 3600h, 3600m or 3600s"),
        ("'30'", "'expire' is '30', a number without a unit; write 30d"),
        ("1801353600", "a number of seconds or milliseconds since 1970; write the date: 2027-01-31T00:00:00Z"),
        ("1801353600000", "write the date: 2027-01-31T00:00:00Z"),
        ("0d", "'expire' is '0d', which is not between 1s and 100 years"),
        (".until", "'expire' is '.until', which is plain text, not a program; write expire: { jq: '.until' }"),
        (".until + 42d", "which is plain text, not a program"),
        ("2027-01-31T00:00:00", "which has a time without a zone; append Z if it is UTC"),
        ("2027-02-31", "which names a day that does not exist"),
        (
            "{jq: '2027-01-31'}",
            "in which 2027-01-31 is not a date; write the date without a program: expire: 2027-01-31"
        ),
        ("true", "'expire' must be text, or { jq: PROGRAM }, not true or false"),
    ])
    func literalMustBeATime(expire: String, message: String) {
        #expect {
            try ruleSet(lines: "name: a, when: {x: 1}, then: [expire: \(expire)]")
        } throws: { error in
            "\(error)".contains(message)
        }
    }

    @Test func mergeErrorNamesExpire() {
        #expect {
            try ruleSet(lines: "name: a, when: {x: 1}, then: [merge: {_exp: 3600}]")
        } throws: { error in
            "\(error)".contains("remove it, or use expire")
        }
    }

    @Test func durationIsNotReportedAsFiringAgain() throws {
        let set = try ruleSet(lines: "name: a, when: {x: 1, _exp: {$exists: false}}, then: [expire: 30d]")
        #expect(set.expiringRule == "a")
        #expect(try ruleSet(lines: "name: a, when: {x: 1}, then: [merge: {y: 1}]").expiringRule == nil)
        let related = "name: a, when: {x: 1}, then: [related: {selector: {y: 1}, then: [expire: never]}]"
        #expect(try ruleSet(lines: related).expiringRule == "a")
    }

    @Test func replacedDocumentKeepsItsExpiry() throws {
        let effect = PutEffect(
            id: "s", keyspace: nil, document: try JSONText(#"{"_id":"s","n":2}"#), ifExists: .replace)
        let current = try JSONText(#"{"_id":"s","_rev":"1-a","n":1,"_exp":"2027-01-31T00:00:00Z"}"#)
        let written = try #require(try effect.write(over: current))
        #expect(written.string == #"{"_id":"s","n":2,"_rev":"1-a","_exp":"2027-01-31T00:00:00Z"}"#)
        let same = try JSONText(#"{"_id":"s","_rev":"1-a","n":2,"_exp":"2027-01-31T00:00:00Z"}"#)
        #expect(try effect.write(over: same) == nil)
    }
}
