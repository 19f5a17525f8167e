import GatewayClient
import Testing

@testable import BotState
@testable import Bots

/// How many dead letters a retry had, and how many are left.
@Suite struct RetryOutcomeTests {
    private func withDeadLetters(_ body: (Ledger, RetryOutcome) async throws -> Void) async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            let deadLetters = (1...4).map { number in
                DeadLetter(
                    sequence: sequence(number), id: DocumentID("t\(number)"), revision: RevisionID("1-a"),
                    rule: number < 4 ? "r" : "s", reason: "because")
            }
            #expect(try await ledger.keep(deadLetters) == [1, 2, 3, 4])
            try await body(ledger, RetryOutcome())
        }
    }

    private func document(_ number: Int) -> DeadLetteredDocument {
        DeadLetteredDocument(id: DocumentID("t\(number)"), deadLetters: [number], sequence: nil)
    }

    @Test(
        arguments: [
            (.numbers([1, 2, 9]), 2), (.numbers([]), 0), (.matching(DeadLetterFilter(), upTo: 4), 4),
            // Dead letters that were added after the command began are not retried.
            (.matching(DeadLetterFilter(), upTo: 3), 3), (.matching(DeadLetterFilter(rule: .named("s")), upTo: 4), 1),
        ] as [(DeadLetterRetry.Selection, Int)])
    func existingDeadLettersAreCounted(deadLetters: DeadLetterRetry.Selection, count: Int) async throws {
        try await withDeadLetters { ledger, outcome in
            try outcome.begin(deadLetters, ledger)
            #expect(outcome.before == count && outcome.left == count)
        }
    }

    @Test(arguments: [
        ([1, 2, 3, 4], [1, 2, 3, 4], 0), ([1, 2, 3, 4], [1, 3], 2),
        // Stopped after two: the others were not retried, so they are left.
        ([1, 2], [1, 2], 2), ([1, 2], [1], 3), ([], [], 4),
        // Another process dropped a dead letter that was not retried, which still counts as left.
        ([1, 2], [1, 2, 3], 2),
    ])
    func undroppedDeadLettersAreLeft(retried: [Int], dropped: [Int], left: Int) async throws {
        try await withDeadLetters { ledger, outcome in
            try outcome.begin(.matching(DeadLetterFilter(), upTo: 4), ledger)
            outcome.note(retried.map(document))
            try await ledger.drop(dropped)
            #expect(outcome.left == 4)
            outcome.end(ledger)
            #expect(outcome.before == 4 && outcome.left == left)
        }
    }

    /// A concurrent run may add dead letters of the same documents.
    @Test func moreAttemptsThanSelectedGiveNoNegativeCount() async throws {
        try await withDeadLetters { ledger, outcome in
            try outcome.begin(.numbers([1]), ledger)
            outcome.note([document(1), document(2)])
            try await ledger.drop([1])
            outcome.end(ledger)
            #expect(outcome.left == 1)
        }
    }

    @Test func unreadableStateLeavesAll() async throws {
        try await withDeadLetters { ledger, outcome in
            try outcome.begin(.numbers([1, 2]), ledger)
            outcome.note([document(1)])
            try await ledger.drop([1])
            _ = try await ledger.store.write { try $0.execute("DROP TABLE dead_letter") }
            outcome.end(ledger)
            #expect(outcome.left == 2)
        }
    }
}
