import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// "é" as one scalar and as two: equal as Swift strings, but different names for a gateway.
@Suite(.limitedParallelism) struct ExactNameTests {
    private static let composed = "\u{E9}.png"
    private static let decomposed = "e\u{301}.png"

    private func inFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    /// Avoids Foundation, which may normalise file names.
    private func write(_ text: String, _ path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
    }

    private func text(_ attachment: Rules.Attachment?) -> String? {
        attachment.map { String(decoding: Data(base64Encoded: Data($0.content.base64)) ?? Data(), as: UTF8.self) }
    }

    @Test func attachmentsWithEquivalentNamesKeepTheirOwnBytes() async throws {
        try await inFolder { folder in
            try write("one", folder + "/" + Self.composed)
            try write("two", folder + "/" + Self.decomposed)
            for file in ["{jq: '\"%\"'}", folder + "/%"] {
                let rules = [Self.composed, Self.decomposed].map {
                    "attach: {name: \"\($0)\", folder: \(folder), file: \(file.replacing("%", with: $0))}"
                }
                let set = try ruleSet(lines: "name: a, when: {}, then: [\(rules.joined(separator: ", "))]")
                let decision = try await set.decided(#"{"_id":"a"}"#)
                #expect(decision.error == nil)
                #expect(decision.attachments.count == 2)
                #expect(text(decision.attachments[ExactString(Self.composed)]) == "one")
                #expect(text(decision.attachments[ExactString(Self.decomposed)]) == "two")
                let body = String(decoding: decision.bodySegments().joined(), as: UTF8.self)
                #expect(body.contains("b25l") && body.contains("dHdv"))
                let report = DecisionReport(try JSONText(#"{"_id":"a"}"#), decision, names: set.names)
                #expect(report.attached.count == 2)
            }
        }
    }

    @Test func detachRemovesOnlyTheExactName() throws {
        let set = try ruleSet(lines: "name: a, when: {}, then: [detach: \"\(Self.composed)\"]")
        let document = #"{"_id":"a","_attachments":{"\#(Self.composed)":{"stub":true},"\#(Self.decomposed)":{}}}"#
        let decision = try set.decide(document)
        #expect(Array(decision.document.bytes) == Array(#"{"_id":"a","_attachments":{"\#(Self.decomposed)":{}}}"#.utf8))
        let report = DecisionReport(try JSONText(Array(document.utf8)), decision, names: set.names)
        #expect(report.detached.map { Array($0.utf8) } == [Array(Self.composed.utf8)])
    }

    @Test func putsOfEquivalentIDsAreDistinct() async throws {
        let rule = #"{name: a, when: {}, then: [{put: {id: {jq: .key}, document: {a: 1}}}, {merge: {jq: .next}}]}"#
        let set = try ruleSet("version: 1\nrules: [\(rule)]\n")
        let document = #"{"_id":"a","key":"\#(Self.composed)","next":{"key":"\#(Self.decomposed)"}}"#
        let decision = try await set.decided(document)
        #expect(decision.error == nil)
        #expect(decision.puts.map { Array($0.id.utf8) } == [Self.composed, Self.decomposed].map { Array($0.utf8) })
    }

    @Test func equivalentProgramsAreDistinct() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {}, then: [merge: {a: {jq: '\"\(Self.composed)\"'}}]",
            "name: b, when: {}, then: [merge: {b: {jq: '\"\(Self.decomposed)\"'}}]")
        let decision = try await set.decided("{}")
        #expect(
            decision.document.bytes == Array(#"{"a":"\#(Self.composed)","b":"\#(Self.decomposed)"}"#.utf8))
    }

    @Test func nameWithAnAccentedUnderscoreIsRefused() {
        let rule = { (action: String) in "version: 1\nrules: [{name: a, when: {}, then: [\(action)]}]\n" }
        #expect(errors(rule("{merge: {\"_\u{301}x\": 1}}")).count == 1)
        #expect(errors(rule("{put: {id: b, document: {\"_\u{301}x\": 1}}}")).count == 1)
        #expect(errors(rule("{attach: {name: \"_\u{301}x\", file: /etc/hostname}}")).count == 1)
        #expect(errors(rule("{patch: [{op: add, path: \"/_\u{301}x\", value: 1}]}")).count == 1)
    }

    @Test func jsonRuleFilesMayHaveEquivalentNames() {
        let when = "{\"\(Self.composed)\":1,\"\(Self.decomposed)\":2}"
        let file = #"{"version":1,"rules":[{"name":"a","when":\#(when),"then":[]}]}"#
        #expect(errors(file, path: "r.json").isEmpty)
    }
}
