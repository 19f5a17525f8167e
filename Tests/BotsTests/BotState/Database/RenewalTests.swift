import Testing

@testable import BotState
@testable import Bots

/// What happens to a state whose database was reset or restored.
@Suite struct RenewalTests {
    private static let gone = DatabaseReset(mark: nil)
    private static let other = DatabaseReset(mark: DatabaseMark(identity: "other"))
    private static let older = DatabaseReset(mark: DatabaseMark(identity: "own"), isOlder: true)

    @Test(
        arguments: [
            // The mark is gone: the state belongs to no database until a new mark is written.
            (gone, true, false, .forget(identity: nil)), (gone, false, false, .forget(identity: nil)),
            (gone, true, true, .forget(identity: nil)),
            // Another mark: that database may have its own state.
            (other, true, false, .forget(identity: "other")), (other, true, true, .lookUp),
            // A dry run can't open another state.
            (other, false, false, .forget(identity: "other")), (other, false, true, .forget(identity: "other")),
            // A restored database: the original may still exist.
            (older, true, false, .replaceMark(identity: "own")), (older, true, true, .replaceMark(identity: "own")),
            (older, false, false, .forget(identity: "own")),
        ] as [(DatabaseReset, Bool, Bool, Renewal.Step)])
    private func currentMarkDecidesTheFirstStep(
        reset: DatabaseReset, mayChangeState: Bool, isKnownToAnotherState: Bool, step: Renewal.Step
    ) {
        for isAtNewAddress in [false, true] {
            let renewal = Renewal(
                reset: reset, mayChangeState: mayChangeState, isKnownToAnotherState: isKnownToAnotherState,
                isAtNewAddress: isAtNewAddress)
            #expect(renewal.first == step)
        }
    }

    @Test(
        arguments: [
            ("new", false, .forget(identity: "new")),
            // A database at a new address is a copy: the state still belongs to the original.
            ("new", true, .lookUp),
            // Without write permission, the two can't be distinguished.
            (nil, false, .forget(identity: "own")), (nil, true, .forget(identity: "own")),
        ] as [(String?, Bool, Renewal.Step)])
    private func newMarkDecidesTheNextStep(new: String?, isAtNewAddress: Bool, step: Renewal.Step) {
        let renewal = Renewal(
            reset: Self.older, mayChangeState: true, isKnownToAnotherState: false, isAtNewAddress: isAtNewAddress)
        #expect(renewal.next(afterReplacing: "own", by: new) == step)
    }
}
