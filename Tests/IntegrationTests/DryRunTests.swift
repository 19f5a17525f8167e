import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// A dry run refuses what a run refuses.
@Suite(.limitedParallelism) struct DryRunTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rules: String
        let documents: [(id: DocumentID, body: String)]
        let written: Int
        let deadLetters: Int
    }

    private static let cases = [
        Case(
            testDescription: "a chain of puts that ends",
            rules: """
                  - name: echo
                    when: {}
                    then: [{ put: { id: { jq: '"z" + ._id' }, document: { echo: true } } }]
                """,
            documents: [("t", #"{"_id":"t"}"#)], written: 10, deadLetters: 1),
        // The last document is not put, because it exists. But its trigger would be changed.
        Case(
            testDescription: "a chain that is too long, of which only the change of the trigger is left",
            rules: """
                  - name: echo
                    when: { seen: { $exists: false } }
                    then:
                      - merge: { seen: true }
                      - put: { id: { jq: '"z" + ._id' }, document: { echo: true } }
                """,
            documents: [
                ("t", #"{"_id":"t"}"#),
                (DocumentID(String(repeating: "z", count: 11) + "t"), #"{"_id":"zzzzzzzzzzzt","seen":true}"#),
            ], written: 20, deadLetters: 1),
        // It has the member twice, so a merge can't tell which one is meant.
        Case(
            testDescription: "a put that is impossible",
            rules: """
                  - name: link
                    when: { type: list }
                    then:
                      - merge: { type: linked }
                      - put: { id: { jq: .task }, document: { n: 3 }, if_exists: merge }
                """,
            documents: [
                ("l", #"{"_id":"l","type":"list","task":"t"}"#), ("t", #"{"_id":"t","n":1,"n":2}"#),
            ], written: 0, deadLetters: 1),
    ]

    @Test(
        .enabled(if: try RealServer.fromEnvironment() == nil, "a server may drop members that are there twice"),
        arguments: cases)
    func dryRunEndsAsTheRun(_ item: Case) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules("version: 1\nrules:\n" + item.rules)
            try await bed.load(item.documents)
            let dry = try await bed.fix(rules, state: "dry") { $0.preview = Preview { _ in } }
            let done = try await bed.fix(rules)
            #expect(done.written == item.written && done.deadLetters == item.deadLetters)
            #expect(dry.preview.written == done.written && dry.deadLetters == done.deadLetters)
            #expect(dry.unchanged == done.unchanged && dry.rules == done.rules)
        }
    }

    /// Regression: it showed a write that the run refuses, because another writer undoes it each time.
    @Test func dryRunDoesNotShowUndoneWrites() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: open
                    when: { type: door }
                    then: [{ merge: { open: true } }]
                """)
            func closeDoor() async throws {
                let stored = try await bed.stored("door")?.root["_rev"]?.string
                let revision = stored.map { #""_rev":"\#($0)","# } ?? ""
                try await bed.load([("door", #"{"_id":"door",\#(revision)"type":"door","open":false}"#)])
            }
            for _ in 0..<2 {
                try await closeDoor()
                #expect(try await bed.runOnce(rules, configure: Self.configure).written == 1)
            }
            try await closeDoor()
            let dry = try await preview(rules, bed)
            #expect(dry.preview.written == 0 && dry.deadLetters == 1)
            let done = try await bed.runOnce(rules, configure: Self.configure)
            #expect(done.written == 0 && done.deadLetters == 1)
        }
    }

    private static func configure(_ settings: inout BotSettings) { settings.effectLimits?.sameContent = 3 }

    /// The dry run of a `--once` run.
    private func preview(_ rules: RuleSet, _ bed: BotTestBed) async throws -> RunCounters {
        try await bed.runOnce(rules) { settings in
            settings.delivery.preview = Preview { _ in }
            Self.configure(&settings)
        }
    }
}
