import LosslessJSON
import Rules
import Testing

@testable import changebot

private let plain = TerminalStyle(.never, isTerminal: false)
private let colored = TerminalStyle(.always, isTerminal: false)

@Suite struct LineDiffTests {
    private func lines(_ old: String, _ new: String) -> [String] {
        LineDiff(old.split(separator: " ").map(String.init), new.split(separator: " ").map(String.init)).lines(plain)
            .map(\.text)
    }

    @Test(
        arguments: [
            ("", "", []),
            ("a b", "a b", []),
            ("", "a", ["+ a"]),
            ("a", "", ["- a"]),
            ("a b c", "a x c", ["  a", "- b", "+ x", "  c"]),
            ("a a", "a a a", ["  a", "  a", "+ a"]),
            ("a b c d", "b c x d", ["- a", "  b", "  c", "+ x", "  d"]),
            ("1 2 3 4 5 a", "1 2 3 4 5 b", ["  3", "  4", "  5", "- a", "+ b"]),
            ("a 1 2 3 4 5", "b 1 2 3 4 5", ["- a", "+ b", "  1", "  2", "  3"]),
            (
                "a 1 2 3 4 5 6 7 8 b", "x 1 2 3 4 5 6 7 8 y",
                ["- a", "+ x", "  1", "  2", "  3", "…", "  6", "  7", "  8", "- b", "+ y"]
            ),
            // Replacing one line by a mark would save nothing.
            (
                "a 1 2 3 4 5 6 7 b", "x 1 2 3 4 5 6 7 y",
                ["- a", "+ x", "  1", "  2", "  3", "  4", "  5", "  6", "  7", "- b", "+ y"]
            ),
        ] as [(String, String, [String])])
    func diffIsMinimalWithContext(old: String, new: String, expected: [String]) {
        #expect(lines(old, new) == expected)
    }

    /// The output contains the old and the new lines, for any texts.
    @Test(arguments: 0..<50)
    func diffLosesNothing(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }
        // Different at both ends, and too short to be shortened.
        let old = ["<"] + (0..<random(7)).map { _ in "\(random(4))" } + [">"]
        let new = ["["] + (0..<random(7)).map { _ in "\(random(4))" } + ["]"]
        var (left, right): ([String], [String]) = ([], [])
        for line in LineDiff(old, new).lines {
            switch line {
            case .same(let text):
                left.append(text)
                right.append(text)
            case .old(let text): left.append(text)
            case .new(let text): right.append(text)
            case .omitted: break
            }
        }
        #expect(left == old)
        #expect(right == new)
    }

    @Test func linesThatOnlyLookEqualAreDifferent() {
        #expect(LineDiff(["\u{E9}"], ["e\u{301}"]).lines == [.old("\u{E9}"), .new("e\u{301}")])
        // Not even if lines are compared one by one.
        #expect(LineDiff(["a", "\u{E9}", "b"], ["x", "e\u{301}", "y"]).lines.contains(.same("\u{E9}")) == false)
    }

    /// Regression: in a document with thousands of members, one difference looked as if all of them were removed.
    @Test func longTextsAreDividedAtLinesThatOccurOnce() {
        let old = (0..<60_000).map { "\($0)" }
        var new = old
        new[7] = "other"
        new.remove(at: 40_000)
        new.append("more")
        let lines = LineDiff(old, new).lines
        #expect(lines.filter { if case .old = $0 { true } else { false } } == [.old("7"), .old("40000")])
        #expect(lines.filter { if case .new = $0 { true } else { false } } == [.new("other"), .new("more")])
    }

    @Test func longTextsOfRepeatedLinesAreReplacedBetweenCommonEnds() {
        let count = LineDiff.comparedLimit
        let old = ["begin"] + (0..<count).map { "\($0 / 2)" } + ["end"]
        let new = ["begin"] + (0..<count).map { "\($0 / 2 + 1)" } + ["end"]
        let lines = LineDiff(old, new).lines
        #expect(lines.count == 2 * count + 2)
        #expect(lines.first == .same("begin") && lines.last == .same("end"))
        #expect(lines[1...count].allSatisfy { if case .old = $0 { true } else { false } })
    }

    @Test func linesUpToTheLimitAreCompared() {
        let half = LineDiff.comparedLimit / 2
        let lines = LineDiff((0..<half).map { "\($0)" }, (0..<half).map { "\($0 + 1)" }).lines
        #expect(
            lines == [.old("0"), .same("1"), .same("2"), .same("3"), .omitted]
                + (half - 3..<half).map { .same("\($0)") } + [.new("\(half)")])
    }

    /// Regression: a difference in a long document did not show which object it was in.
    @Test func openingsAroundADifferenceAreShown() throws {
        let members = (0..<6).map { #""m\#($0)":\#($0)"# }.joined(separator: ",")
        let text =
            #"{"first":1,\#(members),"a":{"b":{\#(members),"x":1},\#(members.replacing("m", with: "n"))},"last":1}"#
        let before = try JSONText(text)
        let after = try JSONText(text.replacing(#""x":1"#, with: #""x":2"#).replacing(#""last":1"#, with: #""last":2"#))
        #expect(
            DocumentDiff.lines(before: before, after: after) == [
                "  {", "  …", #"    "a": {"#, #"      "b": {"#, "  …", #"        "m3": 3"#, #"        "m4": 4"#,
                #"        "m5": 5"#, #"-       "x": 1"#, #"+       "x": 2"#, "      }", #"      "n0": 0"#,
                #"      "n1": 1"#, "  …", #"      "n4": 4"#, #"      "n5": 5"#, "    }", #"-   "last": 1"#,
                #"+   "last": 2"#, "  }",
            ])
        // Lines that enclose the second difference are shown in place of equal ones.
        let far = #"{"x":1,\#(members),"a":{\#(members),\#(members.replacing("m", with: "n")),"y":1}}"#
        let lines = DocumentDiff.lines(
            before: try JSONText(far),
            after: try JSONText(far.replacing(#":1,"m0""#, with: #":2,"m0""#).replacing(#""y":1"#, with: #""y":2"#)))
        #expect(lines.contains(#"    "a": {"#) && lines.filter { $0 == "  …" }.count == 2, "\(lines)")
    }

    /// Regression: the terminal did not show which object a difference is in.
    @Test func openingsAreShownOnTheTerminal() {
        let old = ["{", "  a: {"] + (0..<5).map { "    m\($0)" } + ["    x: 1", "  }", "}"]
        let new = old.map { $0.replacing("x: 1", with: "x: 2") }
        #expect(
            LineDiff(old, new).lines(plain).map(\.text) == [
                "  {", "    a: {", "…", "      m2", "      m3", "      m4", "-     x: 1", "+     x: 2", "    }", "  }",
            ])
    }

    @Test func diffIsColouredAndEscaped() {
        #expect(
            LineDiff(["\u{1B}[2J", "same\u{202E}"], ["new", "same\u{202E}"]).lines(colored).map(\.text) == [
                "\u{1B}[31m- \\u001b[2J\u{1B}[0m", "\u{1B}[32m+ new\u{1B}[0m", "  same\\u202e",
            ])
    }
}

@Suite struct DocumentDiffTests {
    private func diff(
        _ outcome: DocumentDiff.Outcome, id: String = "task-1", rules: [String] = ["add-image"]
    ) throws -> DocumentDiff {
        let before = #"{"_id":"task-1","done":false,"_attachments":{"old":{"stub":true}}}"#
        return DocumentDiff(
            id: id, revision: "3-abc", rules: rules, before: try JSONText(before), outcome: outcome)
    }

    @Test func diffShowsChangedLines() throws {
        let after = try JSONText(#"{"_id":"task-1","done":true,"_attachments":{"image":{}}}"#)
        #expect(
            try diff(.written(after)).lines(plain).map(\.text) == [
                "task-1  3-abc  add-image",
                "  {", "    \"_id\": \"task-1\"", "-   \"done\": false", "+   \"done\": true", "  }",
            ])
    }

    @Test func attachmentsAndOtherDocumentsAreShownSeparately() throws {
        var diff = try diff(.written(try JSONText(#"{"_id":"task-1","done":false}"#)), rules: ["a", "b"])
        let digest = "abcdef0123456789"
        diff.attached = [
            .init(name: "image", contentType: "image/png", byteCount: 29789, sha256: digest),
            .init(name: "dot", contentType: "text/plain", byteCount: 1, sha256: "ab"),
        ]
        diff.detached = ["old"]
        diff.otherDocuments = [
            .init(id: "audit-1", document: try JSONText(#"{"_id":"audit-1"}"#)),
            .init(id: "audit-2", keyspace: "todo._default.audit"),
        ]
        #expect(
            diff.lines(plain).map(\.text) == [
                "task-1  3-abc  a, b",
                "- attachment old",
                "+ attachment image  image/png, 29,789 bytes, sha256 abcdef012345…",
                "+ attachment dot  text/plain, 1 byte, sha256 ab",
                "put audit-1", "  {", "    \"_id\": \"audit-1\"", "  }",
                "put audit-2 in todo._default.audit",
            ])
    }

    @Test func totalsShowContributions() throws {
        var diff = try diff(.written(try JSONText(#"{"_id":"task-1","done":false}"#)), rules: ["counts"])
        diff.totals = [
            .init(target: "counts:a\u{1B}", values: [("open", "1"), ("hours", "-1.5")]),
            .init(target: "all", values: [("tasks", "1")]),
        ]
        #expect(
            diff.lines(plain).map(\.text)
                == ["task-1  3-abc  counts", "adds to counts:a\\u001b: open 1, hours -1.5", "adds to all: tasks 1"])
    }

    @Test func deletionShowsTheDocument() throws {
        let lines = try diff(.deleted).lines(plain).map(\.text)
        #expect(
            lines == [
                "task-1  3-abc  add-image", "- (deleted)", "- {", "-   \"_id\": \"task-1\"", "-   \"done\": false",
                "- }",
            ])
    }

    @Test func relatedDocumentsAreCountedAndTheFirstOnesShown() throws {
        var diff = try diff(.deadLettered(reason: "x"))
        let before = try JSONText(#"{"_id":"t\u001b","a":1}"#)
        diff.related = [
            .init(
                selector: #"{"list":"l1"}"#, found: 1200, changed: 3,
                documents: [("t\u{1B}", before, nil), ("t2", before, try JSONText(#"{"_id":"t\u001b","a":2}"#))])
        ]
        #expect(
            diff.lines(plain).map(\.text).dropFirst(2) == [
                #"related {"list":"l1"}: 1,200 documents, 3 would change"#, "- t\\u001b (deleted)", "t2", "  {",
                "    \"_id\": \"t\\u001b\"", "-   \"a\": 1", "+   \"a\": 2", "  }", "… 1 more",
            ])
    }

    @Test func deadLetteredDocumentShowsItsReason() throws {
        #expect(
            try diff(.deadLettered(reason: "jq:\nnull")).lines(plain).map(\.text)
                == ["task-1  3-abc  add-image", "! dead-lettered: jq:\\u000anull"])
    }

    @Test func controlCharactersInNamesAreEscaped() throws {
        var diff = try diff(.deleted, id: "a\u{1B}[2J\u{202E}b", rules: ["r\r"])
        diff.detached = ["x\ny"]
        diff.otherDocuments = [.init(id: "\u{85}", keyspace: "k\u{7}")]
        #expect(
            diff.lines(plain).map(\.text) == [
                "a\\u001b[2J\\u202eb  3-abc  r\\u000d", "- (deleted)", "- {", "-   \"_id\": \"task-1\"",
                "-   \"done\": false", "- }", "- attachment x\\u000ay", "put \\u0085 in k\\u0007",
            ])
    }
}
