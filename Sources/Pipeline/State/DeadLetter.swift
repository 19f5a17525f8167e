package import GatewayClient
internal import Logging

/// A change that was set aside, so that the feed could go on.
package struct DeadLetter: Sendable, Equatable {
    package var sequence: SequenceID?
    package var id: DocumentID
    package var revision: RevisionID?
    /// The rule that failed; nil if none did (the gateway refused the write, the body was not JSON).
    package var rule: String?
    package var reason: String
    /// How often a write was tried.
    package var attempts: Int

    package init(
        sequence: SequenceID?, id: DocumentID, revision: RevisionID?, rule: String? = nil, reason: String,
        attempts: Int = 0
    ) {
        self.sequence = sequence
        self.id = id
        self.revision = revision
        self.rule = rule
        self.reason = reason
        self.attempts = attempts
    }
}

extension Logger {
    /// One warning for each change that was set aside.
    func report(_ letters: [DeadLetter]) {
        for letter in letters {
            warning(
                "set aside a change",
                metadata: [
                    "id": "\(letter.id)", "revision": "\(letter.revision?.text ?? "")",
                    "rule": "\(letter.rule ?? "")", "reason": "\(letter.reason)",
                ])
        }
    }
}
