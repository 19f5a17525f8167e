import Testing

@testable import BotState
@testable import Bots

/// What becomes of a state whose database was reset or restored.
@Suite struct RenewalTests {
    private static let gone = DatabaseReset(mark: nil)
    private static let other = DatabaseReset(mark: DatabaseMark(identity: "other"))
    private static let older = DatabaseReset(mark: DatabaseMark(identity: "own"), isOlder: true)

    @Test(
        arguments: [
            // The mark is gone: the state belongs to no database until a new one is left.
            (gone, true, false, .forget(identity: nil)), (gone, false, false, .forget(identity: nil)),
            (gone, true, true, .forget(identity: nil)),
            // Another mark: that database may have a state of its own.
            (other, true, false, .forget(identity: "other")), (other, true, true, .lookUp),
            // A dry run, or a state that the caller opened, has no other.
            (other, false, false, .forget(identity: "other")), (other, false, true, .forget(identity: "other")),
            // A restored database: the one that it is a copy of may still exist.
            (older, true, false, .replaceMark(identity: "own")), (older, true, true, .replaceMark(identity: "own")),
            (older, false, false, .forget(identity: "own")),
        ] as [(DatabaseReset, Bool, Bool, Renewal.Step)])
    private func theMarkThatIsThereDecides(
        reset: DatabaseReset, choosesState: Bool, isKnownToAnotherState: Bool, step: Renewal.Step
    ) {
        for isAtNewAddress in [false, true] {
            let renewal = Renewal(
                reset: reset, choosesState: choosesState, isKnownToAnotherState: isKnownToAnotherState,
                isAtNewAddress: isAtNewAddress)
            #expect(renewal.first == step)
        }
    }

    @Test(
        arguments: [
            ("new", false, .forget(identity: "new")),
            // Found at a new address, it is a copy: the state stays that of the other database.
            ("new", true, .lookUp),
            // Without the right to write the two can't be told apart.
            (nil, false, .forget(identity: "own")), (nil, true, .forget(identity: "own")),
        ] as [(String?, Bool, Renewal.Step)])
    private func thenWhetherItGotANewMark(new: String?, isAtNewAddress: Bool, step: Renewal.Step) {
        let renewal = Renewal(
            reset: Self.older, choosesState: true, isKnownToAnotherState: false, isAtNewAddress: isAtNewAddress)
        #expect(renewal.next(afterReplacing: "own", by: new) == step)
    }
}
