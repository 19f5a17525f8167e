import Encodings
import GRDB
import GatewayClient
import Testing

@testable import BotState
@testable import DocumentFlow

extension Ledger {
    /// The indexes of the revisions that this rule set has ever written.
    func ownRevisions(among revisions: [(id: DocumentID, revision: RevisionID)]) async throws -> [Int] {
        let earlier = try await earlierWrites(of: revisions, since: .max)
        return revisions.indices.filter { earlier[$0].include(revisions[$0].revision) }
    }

    func recordOwnRevisions(_ revisions: [(id: DocumentID, revision: RevisionID)]) async throws {
        try await recordOwnWrites(revisions.map { OwnWrite(id: $0.id, revision: $0.revision, content: nil) })
    }
}

@Suite struct LedgerOwnWriteTests {
    @Test func ownRevisionsBelongToTheSameRuleSet() async throws {
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

    @Test func idsThatDifferAfterANULAreDistinct() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.recordOwnRevisions([("a\u{0}b", RevisionID("2-x\u{0}1"))])
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a\u{0}c", RevisionID("2-x\u{0}1")), ("a", RevisionID("2-x")), ("a\u{0}b", RevisionID("2-x\u{0}2")),
                ("a\u{0}b", RevisionID("2-x\u{0}1")),
            ]
            #expect(try await ledger.ownRevisions(among: candidates) == [3])
        }
    }

    private func content(_ number: UInt8) -> ContentFingerprint { ContentFingerprint(bytes: [number]) }

    private func effect(_ id: DocumentID, _ number: UInt8) -> OwnWrite {
        OwnWrite(id: id, revision: nil, content: content(number))
    }

    private func counts(
        of effects: [(id: DocumentID, content: UInt8)], in ledger: Ledger
    ) async throws -> [EarlierWrites.EffectCount] {
        let now = Timestamp.secondsNow
        let earlier = try await ledger.earlierWrites(of: effects.map { ($0.id, RevisionID("9-z")) }, since: now - 600)
        return zip(earlier, effects).map { $0.count(of: content($1.content), in: now - 600...now) }
    }

    @Test func repeatedEffectsAreCountedByContentForAnyRules() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                try await ledger.recordOwnWrites([
                    OwnWrite(id: "a", revision: RevisionID("1-x"), content: content(1)), effect("b", 1),
                ])
            }
            try await bed.using(rules: "r2") { ledger in
                try await ledger.recordOwnWrites([effect("a", 1), effect("a", 2)])
                let found = try await counts(of: [("b", 1), ("c", 1), ("a", 1), ("a", 2), ("b", 2)], in: ledger)
                #expect(found.map(\.all) == [1, 0, 2, 1, 0])
                #expect(try await counts(of: [], in: ledger) == [])
            }
        }
    }

    /// An app that toggles a value does not undo the bot's writes.
    @Test func countStartsAgainAfterAnotherContent() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            for content in [1, 1, 2, 1, 1, 1] as [UInt8] {
                try await ledger.recordOwnWrites([effect("a", content), effect("b", 1)])
            }
            // An own revision without content in between, as from a pass, does not count.
            try await ledger.recordOwnRevisions([("a", RevisionID("7-x"))])
            let found = try await counts(of: [("a", 1), ("a", 2), ("a", 3), ("b", 1)], in: ledger)
            #expect(found.map(\.all) == [5, 1, 0, 6])
            #expect(found.map(\.consecutive) == [3, 0, 0, 6])
        }
    }

    /// Regression: after the clock had run ahead, documents were refused until the real time had caught up.
    @Test func writesInTheFutureAreNotCounted() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let own: [(id: DocumentID, revision: RevisionID)] = [("a", RevisionID("2-x"))]
            for _ in 0..<30 { try await ledger.recordOwnWrites([effect("a", 1)]) }
            try await ledger.recordOwnRevisions(own)
            let now = Timestamp.secondsNow
            try await ledger.write {
                try $0.execute("UPDATE own_write SET written_at = ?", [now + 86_400])
            }
            #expect(try await counts(of: [("a", 1)], in: ledger).map(\.all) == [0])
            let earlier = try await ledger.earlierWrites(of: own, since: .max)[0]
            #expect(!earlier.include(RevisionID("2-x"), in: now - 3600...now))
            #expect(earlier.include(RevisionID("2-x")))
        }
    }

    /// For a document that is written often, the state must not read all its writes each time.
    @Test func onlyTheRevisionAndRecentWritesAreRead() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            for number in 1...50 {
                try await ledger.recordOwnWrites([
                    OwnWrite(id: "a", revision: RevisionID("\(number)-x"), content: content(1))
                ])
            }
            let now = Timestamp.secondsNow
            try await ledger.write {
                try $0.execute(
                    "UPDATE own_write SET written_at = ? WHERE rowid <= 48", [now - 601])
            }
            let earlier = try await ledger.earlierWrites(
                of: [("a", RevisionID("7-x")), ("b", RevisionID("7-x"))], since: now - 600)
            #expect(earlier.map(\.writes.count) == [3, 0])
            #expect(earlier[0].include(RevisionID("7-x")))
        }
    }

    /// A document that a rule writes for each change of others has thousands of writes.
    @Test func onlyTheNewestWritesOfADocumentAreRead() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let writes = (1...Ledger.inspectedWriteLimit + 1).map { number in
                OwnWrite(id: "hot", revision: RevisionID("\(number)-x"), content: nil)
            }
            try await ledger.recordOwnWrites(writes + [OwnWrite(id: "a", revision: RevisionID("1-x"), content: nil)])
            let asked: [(id: DocumentID, revision: RevisionID)] = [
                ("hot", RevisionID("1-x")), ("hot", RevisionID("2-x")), ("a", RevisionID("1-x")),
            ]
            #expect(try await ledger.ownRevisions(among: asked) == [1, 2])
            #expect(try await ledger.earlierWrites(of: asked, since: 0).map(\.writes.count) == [1000, 1000, 1])
        }
    }

    @Test func oldestWritesAreForgotten() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let asked: [(id: DocumentID, revision: RevisionID)] = [
                ("old", RevisionID("1-x")), ("a", RevisionID("1-x")),
            ]
            try await ledger.recordOwnRevisions(asked)
            try await ledger.write {
                try $0.execute("UPDATE own_write SET rowid = ? WHERE rowid = 2", [Ledger.ownWriteLimit])
                guard $0.dialect == .postgres else { return }
                let numbers = "SELECT setval(pg_get_serial_sequence('own_write', 'rowid'), ?)"
                _ = try $0.rows(numbers, [Ledger.ownWriteLimit])
            }
            #expect(try await ledger.ownRevisions(among: asked) == [0, 1])
            try await ledger.recordOwnRevisions([("b", RevisionID("1-x"))])
            #expect(try await ledger.ownRevisions(among: asked) == [1])
        }
    }

    @Test func chainOfAPutIsStored() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let chain = RuleChain(["a", "b → \u{0}c"])
            try await ledger.recordCausedRevisions([.init(id: "d", revision: RevisionID("2-x"), chain: chain)])
            let asked: [(id: DocumentID, revision: RevisionID)] = [
                ("d", RevisionID("2-y")), ("d", RevisionID("2-x")), ("e", RevisionID("2-x")),
            ]
            #expect(try await ledger.chains(of: asked) == [RuleChain(), chain, RuleChain()])
        }
    }
}
