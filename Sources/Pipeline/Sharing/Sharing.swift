internal import DocumentFlow
package import Fleet
package import Rules

/// How the processes of a fleet share the work (`--role`). Without it, one runs and the others stand by.
package struct Sharing: Sendable, Equatable {
    package static let defaultPartitions = Partitioning.defaultPartitions
    /// The default without an engine.
    package static let partitionsOfOneProcess = 1

    /// What this process does.
    package let role: FleetMember.Role
    /// How many parts the documents fall into: the most processes that can work. Fixed with the first start of a fleet.
    package let partitions: Int

    package init(role: FleetMember.Role, partitions: Int = Self.defaultPartitions) {
        self.role = role
        self.partitions = partitions
    }

    /// - Parameters:
    ///   - isScheduled: Whether rules run over all documents at certain times.
    ///   - catchesUp: Whether changed rules are applied to all documents.
    /// - Throws: `RunError` if there are rules whose work can't be shared.
    package static func check(_ ruleSet: RuleSet, isScheduled: Bool, catchesUp: Bool) throws {
        let reason: String? =
            if let rule = ruleSet.aggregates.first {
                "the rule '\(rule.name)' counts documents"
            } else if let rule = ruleSet.timedRules.first {
                "the rule '\(rule)' waits for times"
            } else if isScheduled {
                "some rules run at certain times"
            } else if ruleSet.resolvesConflicts {
                "some rules resolve conflicts"
            } else if catchesUp {
                "--catch-up-changed-rules is set"
            } else {
                nil
            }
        guard let reason else { return }
        throw RunError(
            .badConfiguration,
            "\(reason): that can't be shared between the processes of a fleet; leave --role out, so that one runs and "
                + "the others stand by, or keep these rules in a fleet of their own")
    }
}
