import GatewayClient
import TestKit
import Testing

@testable import BotState

/// Writing and reading the bot's mark in a database.
@Suite struct DatabaseMarkTests {
    private static func mark(
        _ sequence: String?, rules: String = "", channels: [String]? = nil, savedAt: String = ""
    ) -> DatabaseMark {
        DatabaseMark(identity: "0123456789abcdef").copying(
            sequence.flatMap { SequenceID($0) }.map { ($0, rules) }, channels: channels, savedAt: savedAt)
    }

    private static let marks = [
        mark(nil), mark("5", rules: "r1", savedAt: "2026-11-20T10:00:00Z"), mark("18446744073709551615"),
        // Sequences that are strings stay strings.
        mark(#""5""#), mark("1::5"), mark("12-g1AAAACXeJzL\"\\"), mark("\"\""), mark(#"[200,"200-g1AA"]"#),
        mark(#"[ [1, 2] , "3\/4" ]"#), mark("[]"), mark("0", channels: []),
        mark("7", channels: ["a", "ä\"\u{1}\u{2028}", ""]), mark("7", rules: "\u{0}\u{7f}\"", savedAt: "😀"),
        DatabaseMark(identity: "\"\\\u{1F600}\n"),
    ]

    @Test(arguments: marks) private func markSurvivesARoundTrip(mark: DatabaseMark) {
        #expect(DatabaseMark(mark.json) == mark, "\(String(decoding: mark.json, as: UTF8.self))")
    }

    @Test(arguments: [
        "", " ", "null", "5", #""identity""#, "[]", #"["identity"]"#, "{}", #"{"identity":""}"#, #"{"identity":5}"#,
        #"{"identity":null}"#, #"{"identity":{"identity":"a"}}"#, #"{"identity":"a""#, #"{"identity":"a"} {}"#,
        #"{"Identity":"a"}"#, #"{'identity':'a'}"#,
    ])
    func otherBodyIsNotAMark(body: String) {
        #expect(DatabaseMark(Array(body.utf8)) == nil)
    }

    /// Members that another version left out or wrote differently count as absent.
    @Test(arguments: [
        (#"{"identity":"a"}"#, nil, nil), (#"{"identity":"a","checkpoint":null}"#, nil, nil),
        (#"{"identity":"a","checkpoint":{"n":5}}"#, nil, nil), (#"{"identity":"a","checkpoint":true}"#, nil, nil),
        (#"{"identity":"a","checkpoint":5,"channels":"a","more":[1]}"#, "5", nil),
        (
            #"{"identity":"a","checkpoint":"5","channels":["a",5,null,"b"],"rule_set":7,"saved_at":[]}"#, "\"5\"",
            ["a", "b"]
        ),
    ])
    func unknownMembersAreIgnored(body: String, checkpoint: String?, channels: [String]?) throws {
        let mark = try #require(DatabaseMark(Array(body.utf8)))
        #expect(mark.identity == "a" && mark.ruleSetHash.isEmpty && mark.savedAt.isEmpty)
        #expect(mark.checkpoint?.description == checkpoint && mark.channels == channels)
    }

    @Test func damagedBodyIsParsedOrRefused() {
        var mutations = Mutations(
            seed: 1, pieces: ["{", "}", "\"", "\\", "\\u0000", "\\ud800", "null", "[", "1e999", "identity", ","])
        var read = 0
        for round in 0..<Mutations.rounds(20_000) {
            let body = mutations.damaged(Self.marks[round % Self.marks.count].json)
            guard let mark = DatabaseMark(body) else { continue }
            read += 1
            #expect(!mark.identity.isEmpty)
            #expect(DatabaseMark(mark.json) == mark, "\(String(decoding: body, as: UTF8.self))")
        }
        #expect(read > 0)
    }

    @Test func newMarkIsUnique() {
        let marks = (0..<100).map { _ in DatabaseMark.new() }
        #expect(Set(marks.map(\.identity)).count == 100)
        #expect(marks.allSatisfy { $0.identity.utf8.count == 32 && $0.identity.allSatisfy(\.isHexDigit) })
        #expect(marks.allSatisfy { $0.checkpoint == nil })
    }

    // MARK: - The copy of the checkpoint

    /// Regression: BigCouch's sequences are lists, which were read back as none. CouchDB omits white space.
    @Test func listIsReadAgainAsItIsStored() throws {
        let mark = Self.mark(#"[ 200, "200-g1\/AA" ]"#, rules: "r1", savedAt: "then")
        let stored =
            #"{"identity":"0123456789abcdef","checkpoint":[200,"200-g1/AA"],"rule_set":"r1","#
            + #""saved_at":"then"}"#
        #expect(DatabaseMark(Array(stored.utf8)) == mark)
        #expect(mark.checkpoint?.description == #"[200,"200-g1/AA"]"#)
    }

    @Test func copyKeepsTheIdentity() {
        let mark = Self.mark("5", rules: "r1", channels: ["a"], savedAt: "then")
        #expect(mark.identity == "0123456789abcdef" && mark.checkpoint == sequence(5))
        #expect(mark.ruleSetHash == "r1" && mark.channels == ["a"] && mark.savedAt == "then")
        #expect(mark.copying(nil, channels: nil, savedAt: "") == DatabaseMark(identity: "0123456789abcdef"))
    }

    @Test(
        arguments: [
            ("5", "r1", ["a"], true), ("6", "r1", ["a"], false), ("\"5\"", "r1", ["a"], false),
            ("5", "r2", ["a"], false), ("5", "r1", ["a", "b"], false), ("5", "r1", nil, false),
            (nil, "", ["a"], false),
        ] as [(String?, String, [String]?, Bool)])
    func copyIsCurrentRegardlessOfItsTime(checkpoint: String?, rules: String, channels: [String]?, isCopy: Bool) {
        let mark = Self.mark("5", rules: "r1", channels: ["a"], savedAt: "long ago")
        let checkpoint = checkpoint.flatMap { SequenceID($0) }.map { ($0, rules) }
        #expect(mark.isCopy(of: checkpoint, channels: channels) == isCopy)
    }
}
