import GRDB
import GatewayClient
import Testing

@testable import DocumentFlow
@testable import Pipeline

@Suite struct LetterFilterTests {
    private func withLetters(_ body: (Ledger) async throws -> Void) async throws {
        try await LedgerBench.withLedger { _, ledger in
            for (number, letter) in [("stamp", "no such path"), ("stamp", "100% wrong"), (nil, "refused: no")]
                .enumerated()
            {
                try await ledger.keep([
                    DeadLetter(
                        sequence: sequence(number), id: number == 1 ? "a" : "b", revision: RevisionID("\(number)-x"),
                        rule: letter.0, reason: letter.1)
                ])
            }
            try await ledger.database.write { database in
                try database.execute(
                    sql: "UPDATE dead_letter SET set_aside_at = '2026-11-20T10:00:00Z' WHERE number = 1")
            }
            try await body(ledger)
        }
    }

    private static let cases: [(LetterFilter, [Int])] = [
        (LetterFilter(), [1, 2, 3]), (LetterFilter(rule: .named("stamp")), [1, 2]),
        (LetterFilter(rule: .named("Stamp")), []), (LetterFilter(rule: LetterFilter.RuleName.none), [3]),
        (LetterFilter(reason: "no"), [1, 3]), (LetterFilter(reason: "%"), [2]), (LetterFilter(reason: ""), [1, 2, 3]),
        (LetterFilter(since: 1_795_168_800), [1, 2, 3]), (LetterFilter(since: 1_795_168_801), [2, 3]),
        (LetterFilter(rule: .named("stamp"), reason: "path", since: .max), []), (LetterFilter(since: .min), [1, 2, 3]),
    ]

    @Test(arguments: cases.indices)
    func onlyTheLettersOfAFilterAreSeenAndDropped(index: Int) async throws {
        let (filter, numbers) = Self.cases[index]
        try await withLetters { ledger in
            #expect(try ledger.deadLetters(filter: filter).compactMap(\.filing?.number) == numbers)
            #expect(try ledger.deadLetterCount(filter) == numbers.count)
            #expect(try ledger.deadLetterCounts(filter).reduce(0) { $0 + $1.count } == numbers.count)
            let documents = try ledger.deadLetteredDocuments(after: 0, upTo: 9, limit: 9, filter: filter)
            #expect(documents.flatMap(\.letters).sorted() == numbers)
            #expect(try await ledger.dropDeadLetters(filter) == numbers.count)
            #expect(try ledger.deadLetterCount() == 3 - numbers.count)
        }
    }

    @Test func lettersAreCountedForEachRule() async throws {
        try await withLetters { ledger in
            let counts = try ledger.deadLetterCounts()
            #expect(counts.map(\.rule) == ["stamp", nil])
            #expect(counts.map(\.count) == [2, 1])
        }
    }
}
