import GatewayClient
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
