internal import LosslessJSON

extension Decider {
    /// What rules with `changed`, `enter` or `leave` see of a revision that the rules wrote.
    package enum OwnRevision: Sendable {
        /// The same as they last saw.
        case same
        /// The gateway has other digests for the attachments that the rules wrote. The rules must remember those, without
        /// firing.
        case renamed
        /// A rule may see another state.
        case different
    }

    /// Compares a revision that the rules wrote with what they last saw. Runs no jq program, so it may also be different
    /// because of a rule with `if` that sees the same.
    ///
    /// - Parameters:
    ///   - input: Rules that see the document for the first time are ignored.
    ///   - isNewest: Whether the rules have written nothing since.
    package func compare(_ input: DecisionInput, isNewest: Bool) -> OwnRevision {
        var result = OwnRevision.same
        for index in ruleSet.comparingRules {
            let rule = ruleSet.rules[index]
            guard let edges = rule.edges, let before = input.lastSeen[rule.name] else { continue }
            do throws(MatchError) {
                guard
                    let observation = try edges.observe(
                        rule, input.document.root, input.visibility, before: before, scratch)
                else { continue }
                if isNewest, before.isWritten, !observation.isUnavailable {
                    if before.digests != observation.digests { result = .renamed }
                    continue
                }
                let outcomes = rule.condition == nil ? [observation.matches] : [observation.matches, false]
                let mayDiffer = outcomes.contains {
                    edges.lastSeen(observation, matches: $0)?.isSame(as: before) == false
                }
                if mayDiffer { return .different }
            } catch {
                return .different
            }
        }
        return result
    }
}

extension Rule {
    /// Whether a comparison of the rules' own write with what the rule saw may find a difference that there is not: the
    /// comparison does not run `if`, and a gateway may have other digests for the attachments.
    var mayMistakeOwnWrites: Bool {
        guard let edges else { return false }
        return edges.tracksMatches && condition != nil || edges.changed.contains(where: \.isAttachmentsMember)
    }
}
