import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Inputs that could use gigabytes of memory or minutes of time.
@Suite(.limitedParallelism, .serialized) struct ExpensiveDecisionTests {
    @Test(arguments: [
        (#"^(\w|\s)*$"#, String(repeating: "a ", count: 1_500_000)),
        ("(a|a)*b", String(repeating: "a", count: 5_000_000)),
        (#"^(?<all>\w|\s)*$"#, String(repeating: "a ", count: 1_500_000)),
    ])
    func patternThatNeedsGigabytesIsAnError(pattern: String, text: String) throws {
        let document = #"{"_id":"a","text":"\#(text)"}"#
        let set = try ruleSet(
            lines: "name: greedy, when: {text: {$regex: '\(pattern)'}}, then: []",
            "name: after, when: {}, then: [merge: {seen: true}]")
        let decision = try set.decide(document)
        #expect(decision.error?.rule == "greedy")
        #expect(decision.error?.reason.contains("MiB of memory") == true)
        let selector = #"{"text":{"$regex":"\#(pattern.replacing(#"\"#, with: #"\\"#))"}}"#
        let filter = DocumentMatcher(try DocumentFilter(selector, name: "--selector"))
        #expect(throws: MatchError.regexMemory(pattern: pattern)) { try filter.matches(JSONText(document).root) }
    }

    /// Each start position stays below the match limit, but there are too many of them.
    @Test(arguments: [
        (#"(?i)(\w+ )*(kg|pounds)"#, "ab "),
        (#"(?:[a-z]+,)*[0-9]"#, "ab,"),
    ])
    func patternThatNeedsMinutesIsAnError(pattern: String, part: String) throws {
        let text = String(repeating: part, count: 80_000)
        let set = try ruleSet(
            lines: "name: slow, when: {text: {$regex: '\(pattern)'}}, then: []",
            "name: after, when: {}, then: [merge: {seen: true}]")
        let decision = try set.decide(#"{"_id":"a","text":"\#(text)"}"#)
        #expect(decision.error?.rule == "slow")
        #expect(decision.error?.reason.contains("took longer than") == true)
    }

    @Test func longTextThatNeedsTheInterpreterMatches() async throws {
        let text = String(repeating: "word ", count: 12_000)
        let set = try ruleSet(
            lines: #"name: a, when: {text: {$regex: '^(?<last>\w|\s)*$'}}, then: [merge: {last: {jq: $match.last}}]"#)
        let decision = try await set.decided(#"{"text":"\#(text)"}"#)
        #expect(decision.error == nil)
        #expect(decision.document.root["last"]?.string == " ")
    }

    @Test func doublingCopiesStopAtTheSizeLimit() throws {
        let copies = (0..<40).map { "{op: copy, from: '', path: /c\($0)}" }
        let set = try ruleSet(lines: "name: laughs, when: {}, then: [patch: [\(copies.joined(separator: ", "))]]")
        let decision = try set.decide(#"{"_id":"a","a":{"text":"\#(String(repeating: "x", count: 10_000))"}}"#)
        #expect(decision.error?.rule == "laughs")
    }

    @Test func computedDocumentAboveTheSizeLimitIsAnError() async throws {
        let members = (0..<3).map { "m\($0): {jq: '\"x\" * 12000000'}" }.joined(separator: ", ")
        let set = try ruleSet(lines: "name: large, when: {}, then: [merge: {\(members)}]")
        let decision = try await set.decided(#"{"_id":"a"}"#)
        #expect(decision.error?.reason.hasPrefix("merge: the document becomes larger than 32 MiB") == true)
    }
}
