import GatewayClient
import Testing

@testable import BotState
@testable import DocumentFlow

@Suite struct DeadLetterFilterTests {
    private func deadLettered(_ body: (Ledger) async throws -> Void) async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            for (number, deadLetter) in [("stamp", "no such path"), ("stamp", "100% wrong"), (nil, "refused: no")]
                .enumerated()
            {
                try await ledger.keep([
                    DeadLetter(
                        sequence: sequence(number), id: number == 1 ? "a" : "b", revision: RevisionID("\(number)-x"),
                        rule: deadLetter.0, reason: deadLetter.1)
                ])
            }
            _ = try await ledger.store.write { database in
                try database.execute(
                    "UPDATE dead_letter SET set_aside_at = '2026-11-20T10:00:00Z' WHERE number = 1")
            }
            try await body(ledger)
        }
    }

    private static let cases: [(DeadLetterFilter, [Int])] = [
        (DeadLetterFilter(), [1, 2, 3]), (DeadLetterFilter(rule: .named("stamp")), [1, 2]),
        (DeadLetterFilter(rule: .named("Stamp")), []), (DeadLetterFilter(rule: DeadLetterFilter.RuleName.none), [3]),
        (DeadLetterFilter(reason: "no"), [1, 3]), (DeadLetterFilter(reason: "%"), [2]),
        (DeadLetterFilter(reason: ""), [1, 2, 3]),
        (DeadLetterFilter(since: 1_795_168_800), [1, 2, 3]), (DeadLetterFilter(since: 1_795_168_801), [2, 3]),
        (DeadLetterFilter(rule: .named("stamp"), reason: "path", since: .max), []),
        (DeadLetterFilter(since: .min), [1, 2, 3]),
    ]

    @Test(arguments: cases.indices)
    func onlyDeadLettersThatMatchAFilterAreListedAndDropped(index: Int) async throws {
        let (filter, numbers) = Self.cases[index]
        try await deadLettered { ledger in
            #expect(try ledger.deadLetters(filter: filter).compactMap(\.ledgerRecord?.number) == numbers)
            #expect(try ledger.deadLetterCount(filter) == numbers.count)
            #expect(try ledger.deadLetterCounts(filter).reduce(0) { $0 + $1.count } == numbers.count)
            let documents = try ledger.deadLetteredDocuments(after: 0, upTo: 9, limit: 9, filter: filter)
            #expect(documents.flatMap(\.deadLetters).sorted() == numbers)
            #expect(try await ledger.dropDeadLetters(filter) == numbers.count)
            #expect(try ledger.deadLetterCount() == 3 - numbers.count)
        }
    }

    @Test func deadLettersAreCountedByRule() async throws {
        try await deadLettered { ledger in
            let counts = try ledger.deadLetterCounts()
            #expect(counts.map(\.rule) == ["stamp", nil])
            #expect(counts.map(\.count) == [2, 1])
        }
    }
}
