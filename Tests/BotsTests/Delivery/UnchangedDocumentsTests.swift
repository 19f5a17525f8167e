import LosslessJSON
import Testing

@testable import BotState
@testable import Delivery
@testable import GatewayClient
@testable import Rules

@Suite struct UnchangedDocumentsTests {
    private typealias Match = ChangeFilter.Match

    /// A rule set with one rule, and what the rule has seen.
    private struct TestBed {
        let rules: RuleSet
        let lastSeen: LastSeenDocuments
        let queue = CandidateQueue()
        let unchanged: UnchangedDocuments

        init(_ rule: String, _ ledger: Ledger) async throws {
            rules = try ruleSet("version: 1\nrules:\n- { \(rule), then: [] }\n")
            lastSeen = try #require(try await LastSeenDocuments.open(rules, in: ledger).documents)
            unchanged = UnchangedDocuments(lastSeen)
        }

        /// The rules see a document.
        func see(_ id: DocumentID, _ members: String) async throws {
            let seen = await rules.lastSeen(of: try document(id, members), now: 0)
            let records = seen.compactMap { name, seen in lastSeen.numbers[name].map { ($0, seen) } }
            try await lastSeen.ledger.store(
                Record(seen: SeenChanges(documents: [SeenDocument(id: id, seen: records)])))
        }

        private func document(_ id: DocumentID, _ members: String) throws -> JSONText {
            try JSONText(#"{"_id":"\#(id.text)","_rev":"1-a",\#(members)}"#)
        }

        /// A row of the feed. It has the sequence `number`.
        func match(_ number: Int, _ id: DocumentID, _ members: String, after preceding: Int? = nil) throws -> Match {
            Match(
                preceding: preceding.map { sequence($0) }, sequence: sequence(number), id: id,
                revision: RevisionID("1-a"), document: try document(id, members).root, isOnlyCompared: true)
        }

        /// The sequences of the matches that are left, each with the row before it.
        func left(
            _ matches: [Match], configure: (inout ChangeFilter) -> Void = { _ in }
        ) async throws -> [[SequenceID?]] {
            var matches = matches
            var filter = ChangeFilter(decider: rules.makeDecider())
            configure(&filter)
            try await unchanged.remove(from: &matches, filter, queue)
            return matches.map { [$0.preceding, $0.sequence] }
        }
    }

    private func withTestBed(_ body: (TestBed) async throws -> Void) async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await body(try await TestBed("name: a, when: {}, changed: [v]", ledger))
        }
    }

    @Test func unchangedRowsCountAsRowsThatNeedNoWork() async throws {
        try await withTestBed { bed in
            for id in ["a", "b", "d"] as [DocumentID] { try await bed.see(id, #""v":1"#) }
            let matches = [
                try bed.match(1, "a", #""v":1"#), try bed.match(2, "b", #""v":1,"other":2"#),
                try bed.match(3, "c", #""v":1"#), try bed.match(4, "d", #""v":2"#),
                try bed.match(6, "a", #""v":1"#, after: 5), try bed.match(8, "d", #""v":1"#, after: 7),
            ]
            #expect(
                try await bed.left(matches) == [
                    [sequence(2), sequence(3)], [nil, sequence(4)], [sequence(7), sequence(8)],
                ])
        }
    }

    /// The rule will have seen another value once the change in progress is decided.
    @Test func documentInProgressIsDecided() async throws {
        try await withTestBed { bed in
            try await bed.see("a", #""v":1"#)
            await bed.queue.submit([Candidate(unread: "a")])
            #expect(try await bed.left([bed.match(1, "a", #""v":1"#)]) == [[nil, sequence(1)]])
            _ = await bed.queue.take(limit: 1, byteLimit: 1)
            #expect(try await bed.left([bed.match(1, "a", #""v":1"#)]) == [[nil, sequence(1)]])
            await bed.queue.release(["a"])
            // A lookup without a result makes the next ones rarer.
            _ = try await bed.left([bed.match(1, "a", #""v":1"#)])
            #expect(try await bed.left([bed.match(1, "a", #""v":1"#)]) == [])
        }
    }

    @Test func laterRowOfAChangedDocumentIsDecided() async throws {
        try await withTestBed { bed in
            try await bed.see("a", #""v":1"#)
            let rows = [try bed.match(1, "a", #""v":2"#), try bed.match(2, "a", #""v":1"#)]
            #expect(try await bed.left(rows) == [[nil, sequence(1)], [nil, sequence(2)]])
        }
    }

    /// A row that needs a decision for another reason also precedes the later ones.
    @Test func rowAfterATombstoneIsDecided() async throws {
        try await withTestBed { bed in
            try await bed.see("a", #""v":1"#)
            var tombstone = try bed.match(1, "a", #""_deleted":true"#)
            tombstone.isOnlyCompared = false
            #expect(try await bed.left([tombstone, bed.match(2, "a", #""v":1"#)]).count == 2)
        }
    }

    /// The dead letter may be obsolete. It may be written while the batch is read.
    @Test func deadLetteredDocumentIsDecided() async throws {
        try await withTestBed { bed in
            try await bed.see("a", #""v":1"#)
            let rows = try [bed.match(1, "a", #""v":1"#)]
            let left = try await bed.left(rows) { filter in
                let letter = DeadLetter(sequence: nil, id: "a", revision: nil, reason: "refused")
                filter.deadLettered.insert([letter], numbers: [1])
            }
            #expect(left.count == 1)
        }
    }

    // MARK: - Lookups

    /// The batches of 60 with a lookup, if this share of their documents is unchanged.
    private func lookups(percentUnchanged: Int, _ pace: inout LookupPace) -> [Int] {
        var lookups: [Int] = []
        for batch in 0..<60 where pace.mayLookUp(100) {
            lookups.append(batch)
            pace.note(ended: percentUnchanged, of: 100)
        }
        return lookups
    }

    @Test func lookupsBecomeRareWhileDocumentsChange() {
        var pace = LookupPace()
        #expect(lookups(percentUnchanged: 24, &pace) == [0, 2, 5, 10, 19, 36, 53])
        #expect(lookups(percentUnchanged: 25, &pace).suffix(2) == [58, 59])
    }

    @Test func batchWithoutComparableDocumentsIsNotCounted() {
        var pace = LookupPace()
        pace.note(ended: 0, of: 1)
        let answers = [0, 1, 1].map { pace.mayLookUp($0) }
        #expect(answers == [false, false, true])
    }
}
