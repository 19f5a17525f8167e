import GatewayClient
import Testing

@testable import BotState

@Suite struct LedgerDeadLetterTests {
    private func deadLetter(
        _ id: DocumentID = "t1", revision: String? = "1-a", rule: String? = "r", reason: String = "because",
        attempts: Int = 0, sequence number: Int? = 4
    ) -> DeadLetter {
        DeadLetter(
            sequence: number.map { sequence($0) }, id: id, revision: revision.map { RevisionID($0) }, rule: rule,
            reason: reason, attempts: attempts)
    }

    @Test func deadLettersKeepAllDetails() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let deadLetters = [
                deadLetter("a\u{0}b", revision: "1-\u{0}", rule: "r\u{0}s", reason: "\u{0}because", attempts: 3),
                DeadLetter(sequence: nil, id: "", revision: nil, reason: "no JSON"),
            ]
            try await ledger.keep(deadLetters)
            var kept = try ledger.deadLetters()
            #expect(kept.map(\.ledgerRecord?.number) == [1, 2])
            #expect(
                kept.allSatisfy {
                    $0.ledgerRecord?.ruleSetHash == "r1" && $0.ledgerRecord?.deadLetteredAt.hasSuffix("Z") == true
                })
            for index in kept.indices { kept[index].ledgerRecord = nil }
            #expect(kept == deadLetters)
        }
    }

    @Test func secondDeadLetterOfAChangeReplacesTheFirst() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([deadLetter(attempts: 10), deadLetter("t2")])
            try await ledger.keep([deadLetter(rule: "other", reason: "again", attempts: 2)])
            let first = try #require(try ledger.deadLetter(1))
            #expect(first.reason == "again")
            #expect(first.rule == "other")
            #expect(first.attempts == 12)
            #expect(try ledger.deadLetterCount() == 2)
        }
    }

    @Test func changesWithoutRevisionAreDistinguishedBySequence() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            for number in [1, 2, 1] {
                try await ledger.keep([deadLetter("", revision: nil, sequence: number)])
            }
            #expect(try ledger.deadLetters().map(\.sequence) == [sequence(1), sequence(2)])
        }
    }

    @Test func deadLetterReplacesTheOnesItNames() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([
                deadLetter("other"), deadLetter(revision: "1-a", attempts: 1), deadLetter(revision: "2-b", attempts: 2),
                deadLetter(revision: "3-c", attempts: 4),
            ])
            var again = deadLetter(revision: "3-c", reason: "still", attempts: 8)
            again.replaced = [3, 2, 99]
            try await ledger.keep([again])
            let deadLetters = try ledger.deadLetters(of: "t1")
            #expect(deadLetters.map(\.ledgerRecord?.number) == [2])
            #expect(deadLetters.first?.attempts == 15)
            #expect(deadLetters.first?.revision?.text == "3-c")
        }
    }

    @Test func droppedNumbersAreNotReused() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([deadLetter("a"), deadLetter("b"), deadLetter("c")])
            #expect(try await ledger.drop([3, 2, 77, 3]) == 2)
            try await ledger.keep([deadLetter("d")])
            #expect(try ledger.deadLetters().map(\.ledgerRecord?.number) == [1, 4])
            #expect(try ledger.deadLetter(3) == nil)
            #expect(try await ledger.dropDeadLetters(DeadLetterFilter()) == 2)
            #expect(try ledger.deadLetterCount() == 0)
        }
    }

    @Test func deadLettersAreReadInPages() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep((1...5).map { deadLetter(DocumentID("d\($0)")) })
            #expect(try ledger.deadLetters(limit: 2).map(\.ledgerRecord?.number) == [1, 2])
            #expect(try ledger.deadLetters(after: 2, limit: 2).map(\.ledgerRecord?.number) == [3, 4])
            #expect(try ledger.deadLetters(after: 5).isEmpty)
        }
    }

    @Test func deadLettersAreFoundByTheWholeDocumentID() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([
                deadLetter("a"), deadLetter("a\u{0}b"), deadLetter("a\u{0}c"), deadLetter("a", revision: "2-b"),
            ])
            #expect(try ledger.deadLetters(of: "a").map(\.ledgerRecord?.number) == [1, 4])
            #expect(try ledger.deadLetters(of: "a\u{0}c").map(\.ledgerRecord?.number) == [3])
        }
    }

    @Test func skippedRuleHasOneDeadLetterPerDocument() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            func skipped(_ rule: String, _ revision: String) -> DeadLetter {
                var deadLetter = deadLetter(revision: revision, rule: rule)
                deadLetter.concernsOnlyRule = true
                return deadLetter
            }
            try await ledger.keep([skipped("r", "1-a"), skipped("s", "1-a")])
            try await ledger.keep([skipped("r", "2-b")])
            #expect(try ledger.deadLetters().map(\.revision) == [RevisionID("2-b"), RevisionID("1-a")])
            #expect(try ledger.deadLetters().map(\.ledgerRecord?.number) == [1, 2])
        }
    }

    @Test func deadLettersOfAResolvedDocumentAreDroppedExceptThoseOfFailedRules() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([
                deadLetter(revision: "1-a"), deadLetter(revision: "2-b", rule: nil),
                deadLetter(revision: "3-c", rule: "s"),
                deadLetter("t2"),
            ])
            let dropped = try await ledger.dropDeadLetters(of: [
                Ledger.ResolvedDocument(id: "t1", failedRules: ["s"]), Ledger.ResolvedDocument(id: "t3"),
            ])
            #expect(dropped.map(\.id) == ["t1"])
            #expect(dropped.map(\.count) == [2])
            #expect(try ledger.deadLetters().map(\.rule) == ["s", "r"])
            #expect(try ledger.documentsWithDeadLetters(limit: 9).count == 2)
        }
    }

    /// A dead letter that was added after the document was read may be about newer content.
    @Test func onlyDeadLettersFromBeforeTheReadAreDropped() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let numbers = try await ledger.keep([deadLetter(revision: "1-a"), deadLetter(revision: "2-b")])
            #expect(numbers == [1, 2])
            let resolved = Ledger.ResolvedDocument(id: "t1", highestDeadLetterNumber: 1)
            #expect(try await ledger.dropDeadLetters(of: [resolved]).map(\.count) == [1])
            #expect(try ledger.deadLetters().map(\.revision) == [RevisionID("2-b")])
        }
    }

    /// Regression: it was dropped as soon as the feed delivered the document, although its total was not written.
    @Test func deadLetterOfATotalStaysUntilTheTotalIsWritten() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([
                DeadLetter(sequence: nil, id: "t1", revision: nil, rule: "count", reason: "no"),
                deadLetter(revision: "1-a", rule: "count"),
            ])
            try await ledger.markTotals(["t1"])
            let resolved = Ledger.ResolvedDocument(id: "t1")
            #expect(try await ledger.dropDeadLetters(of: [resolved]).map(\.count) == [1])
            try await ledger.noteTotals(written: [], refused: [("t1", 1)])
            #expect(try await ledger.dropDeadLetters(of: [resolved]).isEmpty)
            #expect(try ledger.deadLetters().map(\.reason) == ["no"])
            try await ledger.noteTotals(written: [("t1", 1)], refused: [])
            #expect(try await ledger.dropDeadLetters(of: [resolved]).map(\.count) == [1])
        }
    }

    @Test func rulesThatWereNotAppliedKeepTheirDeadLetters() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([
                deadLetter(revision: "1-a"), deadLetter(revision: "2-b", rule: nil),
                deadLetter(revision: "3-c", rule: "s"),
            ])
            let resolved = Ledger.ResolvedDocument(id: "t1", rules: ["s"])
            #expect(try await ledger.dropDeadLetters(of: [resolved]).map(\.count) == [1])
            #expect(try ledger.deadLetters().map(\.rule) == ["r", nil])
        }
    }
}
