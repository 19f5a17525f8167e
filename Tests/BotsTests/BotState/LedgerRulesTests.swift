import GatewayClient
import Rules
import Testing

@testable import BotState
@testable import Bots

@Suite struct LedgerRulesTests {
    @Test func ruleFingerprintsAreStoredByName() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                #expect(try ledger.notedRules() == nil)
                try await ledger.note(rules: ["a": "1", "b\u{0}b": "2"], hash: "h")
                try await ledger.note(rules: ["b\u{0}b": "3", "c": "4"], hash: "h")
            }
            let noted = try await bed.using { ledger in try ledger.notedRules() }
            #expect(noted == ["b\u{0}b": "3", "c": "4"])
        }
    }

    /// Regression: such a rule was reported as new or edited, and the advice was to let it learn all documents again.
    @Test func ruleWithEditedActionsStillKnowsItsDocuments() async throws {
        func rules(_ lines: String...) throws -> RuleSet {
            try ruleSet("version: 1\nrules:\n" + lines.map { "  - { \($0) }\n" }.joined())
        }
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let old = try rules(
                "name: a, when: {t: 1}, changed: [s], then: []", "name: b, when: {t: 1}, changed: [s], then: []")
            let new = try rules(
                "name: a, when: {t: 1}, changed: [s], then: [merge: {x: 1}]",
                "name: b, when: {t: 2}, changed: [s], then: []", "name: c, when: {t: 1}, changed: [s], then: []")
            try await bed.using { ledger in
                #expect(try ledger.remembering(old.comparing) == [])
                _ = try await ledger.openLastSeen(old.comparing, .alone)
                try await ledger.note(rules: old.fingerprints, hash: "h")
                let remembering = try ledger.remembering(new.comparing)
                #expect(remembering == ["a"])
                let changed = ChangedRules(
                    new, noted: try #require(try ledger.notedRules()), remembering: remembering)
                #expect(changed == ChangedRules(comparing: ["b", "c"], knowing: ["a"]))
                #expect(changed.names == ["b", "c"] && !changed.isEmpty)
            }
        }
    }

    @Test func pendingCatchUpRulesAreStoredUntilDone() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let rules = ["a": "1", "b\u{0}\"": "2"]
            try await bed.using { ledger in
                #expect(try ledger.missedRules() == [])
                try await ledger.note(rules: rules, hash: "h", missed: ["a", "b\u{0}\""])
            }
            try await bed.using { ledger in
                #expect(try ledger.missedRules() == ["a", "b\u{0}\""])
                try await ledger.note(rules: rules, hash: "h", missed: ["a"])
                #expect(try ledger.missedRules() == ["a"])
                // After a reset, the whole feed is read again.
                try await ledger.startOver(identity: nil, at: .start, reason: "reset")
                #expect(try ledger.missedRules() == [])
            }
        }
    }
}
