// The memory that effects take.
extension RuleAttempt {
    /// The maximum number of bytes of all other documents, lines and requests that are computed from one document. They
    /// are in memory at the same time, because all or none of them are carried out.
    static let effectLimit = 32 << 20

    /// The memory that the effects so far take.
    var effectBytes: Int { trial.effects.byteCount }

    func checkEffects(after step: RuleStep) throws(DecisionError) {
        guard effectBytes > Self.effectLimit else { return }
        throw Self.tooManyEffects(rule: rule.name, "\(step.action.name): ")
    }

    /// The error for effects that exceed ``effectLimit``.
    static func tooManyEffects(rule: String, _ action: String = "") -> DecisionError {
        DecisionError(
            rule: rule,
            reason: "\(action)the documents, lines and requests that the rules compute from this one document are "
                + "larger than \(effectLimit >> 20) MiB together; compute fewer or smaller ones, or distribute the "
                + "input over several documents")
    }
}
