import GatewayClient
import Pipeline
import Testing

@Suite struct LedgerOwnRevisionTests {
    @Test func ownRevisionsAreThoseOfTheSameRules() async throws {
        try await withTemporaryDirectory { directory in
            let bench = LedgerBench(directory: directory)
            try await bench.using { ledger in
                try await ledger.recordOwnRevisions([("a", RevisionID("2-x")), ("b", RevisionID("3-y"))])
            }
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a", RevisionID("2-x")), ("a", RevisionID("3-y")), ("b", RevisionID("3-y")),
            ]
            #expect(try await bench.using { try await $0.ownRevisions(among: candidates) } == [0, 2])
            #expect(try await bench.using(rules: "r2") { try await $0.ownRevisions(among: candidates) } == [])
        }
    }

    @Test func idsThatDifferAfterANULAreTwo() async throws {
        try await LedgerBench.withLedger { _, ledger in
            try await ledger.recordOwnRevisions([("a\u{0}b", RevisionID("2-x\u{0}1"))])
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a\u{0}c", RevisionID("2-x\u{0}1")), ("a", RevisionID("2-x")), ("a\u{0}b", RevisionID("2-x\u{0}2")),
                ("a\u{0}b", RevisionID("2-x\u{0}1")),
            ]
            #expect(try await ledger.ownRevisions(among: candidates) == [3])
        }
    }

    @Test func ownWritesAreCountedPerDocumentWhateverTheRules() async throws {
        try await withTemporaryDirectory { directory in
            let bench = LedgerBench(directory: directory)
            try await bench.using { ledger in
                try await ledger.recordOwnRevisions([("a", RevisionID("1-x")), ("b", RevisionID("1-x"))])
            }
            try await bench.using(rules: "r2") { ledger in
                try await ledger.recordOwnRevisions([("a", RevisionID("2-x")), ("a", RevisionID("2-x"))])
                let now = Timestamp.secondsNow
                #expect(try await ledger.ownWriteCounts(of: ["b", "c", "a"], since: now - 600) == [1, 0, 2])
                #expect(try await ledger.ownWriteCounts(of: ["a"], since: now + 600) == [0])
                #expect(try await ledger.ownWriteCounts(of: [], since: 0) == [])
            }
        }
    }
}
