import GatewayClient
import LosslessJSON
import Testing

@testable import Delivery

/// Whether a decision is outdated.
@Suite struct TriggerTests {
    private static func found(_ revision: String) throws -> DocumentLookup {
        .found(RevisionID(revision), try JSONText(#"{"_id":"a"}"#))
    }

    @Test(
        arguments: [
            (false, "1-a", false), (false, "2-b", true), (false, "deleted", true), (false, "missing", true),
            // A refusal does not reveal the revision.
            (false, "refused", false),
            (true, "1-a", true), (true, "2-b", true), (true, "deleted", false), (true, "missing", false),
        ])
    func changedTriggerIsDetected(isDeleted: Bool, now: String, isOutdated: Bool) throws {
        let lookup: DocumentLookup =
            switch now {
            case "deleted": .deleted(RevisionID("2-b"))
            case "missing": .missing
            case "refused": .refused(reason: "no")
            default: try Self.found(now)
            }
        for willBeDecidedAgain in [false, true] {
            let trigger = Trigger(
                id: "a", revision: RevisionID("1-a"), isDeleted: isDeleted, isWritten: false,
                willBeDecidedAgain: willBeDecidedAgain)
            #expect(trigger.isOutdated(lookup) == (isOutdated && !willBeDecidedAgain))
        }
    }
}
