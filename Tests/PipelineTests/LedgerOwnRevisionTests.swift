import Encodings
import Foundation
import GRDB
import GatewayClient
import Testing

@testable import DocumentFlow
@testable import Pipeline

@Suite struct LedgerOwnRevisionTests {
    @Test func ownRevisionsAreThoseOfTheSameRules() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                try await ledger.recordOwnRevisions([("a", RevisionID("2-x")), ("b", RevisionID("3-y"))])
            }
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a", RevisionID("2-x")), ("a", RevisionID("3-y")), ("b", RevisionID("3-y")),
            ]
            #expect(try await bed.using { try await $0.ownRevisions(among: candidates) } == [0, 2])
            #expect(try await bed.using(rules: "r2") { try await $0.ownRevisions(among: candidates) } == [])
        }
    }

    @Test func idsThatDifferAfterANULAreTwo() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.recordOwnRevisions([("a\u{0}b", RevisionID("2-x\u{0}1"))])
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a\u{0}c", RevisionID("2-x\u{0}1")), ("a", RevisionID("2-x")), ("a\u{0}b", RevisionID("2-x\u{0}2")),
                ("a\u{0}b", RevisionID("2-x\u{0}1")),
            ]
            #expect(try await ledger.ownRevisions(among: candidates) == [3])
        }
    }

    private func effect(_ id: DocumentID, _ content: UInt8) -> Ledger.Effect {
        Ledger.Effect(id: id, content: ContentFingerprint(bytes: [content]))
    }

    @Test func effectsAreCountedByContentWhateverTheRules() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                try await ledger.recordOwnRevisions(
                    [("a", RevisionID("1-x"))], effects: [effect("a", 1), effect("b", 1)])
            }
            try await bed.using(rules: "r2") { ledger in
                try await ledger.recordOwnRevisions([], effects: [effect("a", 1), effect("a", 2)])
                let effects = [effect("b", 1), effect("c", 1), effect("a", 1), effect("a", 2), effect("b", 2)]
                #expect(try await ledger.effectCounts(of: effects, window: 600).map(\.all) == [1, 0, 2, 1, 0])
                #expect(try await ledger.effectCounts(of: [], window: 600) == [])
            }
        }
    }

    /// An app that switches to and fro undoes nothing.
    @Test func whatCameInBetweenIsCountedApart() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            for content in [1, 1, 2, 1, 1, 1] as [UInt8] {
                try await ledger.recordOwnRevisions([], effects: [effect("a", content), effect("b", 1)])
            }
            let counts = try await ledger.effectCounts(
                of: [effect("a", 1), effect("a", 2), effect("a", 3), effect("b", 1)], window: 600)
            #expect(counts.map(\.all) == [5, 1, 0, 6])
            #expect(counts.map(\.inARow) == [3, 1, 0, 6])
        }
    }

    /// A clock that ran ahead made documents be refused until its time had come.
    @Test func whatWasNotedInTheFutureDoesNotCount() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            let future = Timestamp.secondsNow + 86_400
            try await ledger.write { database in
                for _ in 0..<30 {
                    try database.execute(
                        sql: "INSERT INTO effect (id, content, written_at) VALUES (?, ?, ?)",
                        arguments: [Data("a".utf8), Data([1]), future])
                }
                try database.execute(
                    sql: "INSERT INTO own_revision (id, revision, rule_set, written_at) VALUES (?, ?, 'r1', ?)",
                    arguments: [Data("a".utf8), Data("2-x".utf8), future])
            }
            #expect(try await ledger.effectCounts(of: [effect("a", 1)], window: 600).map(\.all) == [0])
            let own: [(id: DocumentID, revision: RevisionID)] = [("a", RevisionID("2-x"))]
            #expect(try await ledger.ownRevisions(among: own, since: Timestamp.secondsNow - 3600) == [])
            #expect(try await ledger.ownRevisions(among: own) == [0])
        }
    }

    @Test func theChainOfAPutIsRemembered() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            let chain = RuleChain(["a", "b → \u{0}c"])
            try await ledger.recordCausedRevisions([.init(id: "d", revision: RevisionID("2-x"), chain: chain)])
            let asked: [(id: DocumentID, revision: RevisionID)] = [
                ("d", RevisionID("2-y")), ("d", RevisionID("2-x")), ("e", RevisionID("2-x")),
            ]
            #expect(try await ledger.chains(of: asked) == [RuleChain(), chain, RuleChain()])
        }
    }
}
