import Testing

@testable import BotState

/// Which state belongs to a database.
@Suite struct StateChoiceTests {
    private static let here = "http://127.0.0.1:4985/todo"
    private static let elsewhere = "http://db.example:4985/todo"

    private static func state(
        _ number: Int, _ identity: String?, _ addresses: [(String, Int)]
    ) -> StateFacts {
        StateFacts(
            number: number, identity: identity, addresses: addresses.map { .init(url: $0.0, used: $0.1) },
            isBlank: false)
    }

    private func chosen(_ observation: DatabaseObservation, _ states: [StateFacts], at address: String = here) -> Int? {
        observation.choose(among: states, at: address)?.number
    }

    @Test func sameMarkIsTheSameDatabaseAtAnyAddress() {
        let states = [Self.state(1, "a", [(Self.here, 5)]), Self.state(2, "b", [(Self.elsewhere, 3)])]
        #expect(chosen(.marked("a"), states) == 1)
        #expect(chosen(.marked("b"), states) == 2)
        #expect(chosen(.marked("a"), states, at: Self.elsewhere) == 1)
        #expect(chosen(.marked("b"), states, at: "http://new:1/x") == 2)
    }

    @Test func anotherMarkAtAKnownAddressIsAReset() {
        #expect(chosen(.marked("new"), [Self.state(1, "a", [(Self.here, 1)])]) == 1)
        #expect(chosen(.unmarked, [Self.state(1, "a", [(Self.here, 1)])]) == 1)
    }

    @Test func anotherMarkAtAnotherAddressIsAnotherDatabase() {
        #expect(chosen(.marked("new"), [Self.state(1, "a", [(Self.here, 1)])], at: Self.elsewhere) == nil)
        #expect(chosen(.unmarked, [Self.state(1, "a", [(Self.here, 1)])], at: Self.elsewhere) == nil)
    }

    @Test func stateWithoutAMarkIsIdentifiedByItsAddress() {
        let states = [Self.state(1, nil, [(Self.here, 0)])]
        for observation in [.marked("a"), .unmarked, .inaccessible] as [DatabaseObservation] {
            #expect(chosen(observation, states) == 1)
            #expect(chosen(observation, states, at: Self.elsewhere) == nil)
        }
    }

    @Test func addressDecidesWithoutMarks() {
        let states = [Self.state(1, "a", [(Self.here, 1)]), Self.state(2, nil, [(Self.elsewhere, 2)])]
        #expect(chosen(.inaccessible, states) == 1)
        #expect(chosen(.inaccessible, states, at: Self.elsewhere) == 2)
        #expect(chosen(.inaccessible, states, at: "http://localhost:4985/todo") == nil)
    }

    @Test func lastDatabaseAtAnAddressIsTheOneThatWasReset() {
        let states = [
            Self.state(1, "a", [(Self.here, 1), (Self.elsewhere, 2)]), Self.state(2, "b", [(Self.here, 7)]),
        ]
        #expect(chosen(.unmarked, states) == 2)
        #expect(chosen(.unmarked, states, at: Self.elsewhere) == 1)
    }

    @Test func resetIsSeenUnderAnotherLoopbackName() {
        let states = [Self.state(1, "a", [(Self.here, 1)])]
        #expect(chosen(.unmarked, states, at: "http://localhost:4985/todo") == 1)
        #expect(chosen(.unmarked, states, at: "http://[::1]:4985/todo") == 1)
        #expect(chosen(.unmarked, states, at: "http://localhost:4984/todo") == nil)
        #expect(chosen(.unmarked, states, at: "http://localhost:4985/shop") == nil)
        // With a mark, it is another database, or one that a bot on another machine uses.
        #expect(chosen(.marked("b"), states, at: "http://localhost:4985/todo") == nil)
    }

    @Test(arguments: [
        ("http://a/todo", "http://a:80/todo", true), ("https://a/todo", "https://a:443/todo", true),
        ("http://A:1/todo", "http://a:1/todo", true), ("http://a:1/todo", "http://a:1/Todo", false),
        ("http://a:1/todo", "https://a:1/todo", false), ("http://a:1/p/todo", "http://a:1/todo", false),
        ("http://a:443/todo", "http://a/todo", false), ("embedded:/a/b", "embedded:/a/b", true),
        ("embedded:/a/b", "embedded:/a/B", false), ("http://[::1]/t", "http://[::1]:80/t", true),
    ])
    func equivalentAddressesAreEqual(one: String, other: String, isSame: Bool) {
        #expect(StateAddress(one).isSame(as: StateAddress(other)) == isSame)
    }
}
