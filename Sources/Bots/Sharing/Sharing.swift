internal import DocumentFlow
package import Fleet

/// How the processes of a fleet share the work (`--role`). Without it, one process is active and the others are on
/// standby.
package struct Sharing: Sendable, Equatable {
    package static let defaultPartitions = Partitioning.defaultPartitions

    /// What this process does.
    package let role: FleetMember.Role
    /// The number of partitions that the documents are divided into. At most this many processes can work at the same
    /// time. Fixed by the first start of a fleet.
    package let partitions: Int

    package init(role: FleetMember.Role, partitions: Int = Self.defaultPartitions) {
        self.role = role
        self.partitions = partitions
    }

    /// - Parameter catchesUp: Whether changed rules are applied to all documents.
    /// - Throws: `RunError` if it is: members that share the work can't do that.
    package static func check(catchesUp: Bool) throws {
        guard catchesUp else { return }
        throw RunError(
            .badConfiguration,
            "--catch-up-changed-rules can't be used with --role: members may have different rules for a time; leave it out, "
                + "and apply new rules to all documents with changebot fix --rule NAME")
    }
}
