import Testing

@testable import BotState

/// The result of comparing the state with the mark in the database.
@Suite struct MarkCheckTests {
    private static func found(_ identity: String, _ generation: Int) -> StoredMark {
        StoredMark(mark: DatabaseMark(identity: identity), generation: generation)
    }

    private static let own = DatabaseMark(identity: "own")
    private static let other = DatabaseMark(identity: "other")

    @Test(
        arguments: [
            // A state without a database adopts any mark.
            (nil, 0, nil, .addMark), (nil, 0, found("own", 0), .adopt(found("own", 0))),
            (nil, 0, found("own", 7), .adopt(found("own", 7))),
            // The state's own mark. Its generation only grows, except after a restore.
            ("own", 3, found("own", 3), .same(found("own", 3))), ("own", 3, found("own", 8), .same(found("own", 8))),
            ("own", 0, found("own", 0), .same(found("own", 0))),
            ("own", 3, found("own", 2), .reset(DatabaseReset(mark: own, isOlder: true))),
            ("own", 3, found("own", 0), .reset(DatabaseReset(mark: own, isOlder: true))),
            // Another mark: its generation does not matter.
            ("own", 3, found("other", 2), .reset(DatabaseReset(mark: other))),
            ("own", 3, found("other", 9), .reset(DatabaseReset(mark: other))),
        ] as [(String?, Int, StoredMark?, MarkCheck.Result)])
    private func foundMarkIsComparedWithTheState(
        known: String?, generation: Int, found: StoredMark?, result: MarkCheck.Result
    ) {
        let check = MarkCheck(known: known, generation: generation)
        if case .reset = result {
            #expect(check.result(found) == .checkAgain)
        } else {
            #expect(check.result(found) == result)
        }
        #expect(check.result(found, after: [found?.mark]) == result)
    }

    /// Regression: a daemon restarted 16 times a second.
    @Test func constantlyChangingMarksDoNotProveAReset() {
        let check = MarkCheck(known: "own", generation: 3)
        let marks = (0..<3).map { DatabaseMark(identity: "\($0)") }
        #expect(check.result(Self.found("1", 1), after: [marks[0]]) == .checkAgain)
        #expect(check.result(Self.found("2", 1), after: [marks[0], marks[1]]) == .unstable)
        #expect(check.result(nil, after: [marks[0], marks[1]]) == .unstable)
        #expect(check.result(Self.found("1", 1), after: [nil, marks[1]]) == .reset(DatabaseReset(mark: marks[1])))
        #expect(check.result(Self.found("own", 3), after: [nil]) == .same(Self.found("own", 3)))
    }

    /// A gateway that is just starting may not find the mark.
    @Test func missingMarkIsCheckedTwice() {
        let check = MarkCheck(known: "own", generation: 3)
        #expect(check.result(nil) == .checkAgain)
        #expect(check.result(nil, after: [nil]) == .reset(DatabaseReset(mark: nil)))
    }

    @Test(
        arguments: [
            (DatabaseReset(mark: nil), "this bot's mark is missing"),
            (DatabaseReset(mark: other), "its mark is not this bot's"),
            (DatabaseReset(mark: own, isOlder: true), "it has an earlier version of this bot's mark"),
        ])
    private func resetReasonNamesTheFinding(reset: DatabaseReset, part: String) {
        #expect(reset.reason.contains(part))
    }
}
