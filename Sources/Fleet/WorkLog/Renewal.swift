/// The answer to a renewal.
package struct Renewal: Hashable, Sendable {
    /// The leases of this member, renewed for the full duration.
    package var leases: [Lease]
    /// How many members work on partitions, including this one if it does.
    package var workers: Int
    /// The free partitions, ascending. Empty while nothing may be claimed.
    package var free: [Int]

    package init(leases: [Lease], workers: Int, free: [Int]) {
        (self.leases, self.workers, self.free) = (leases, workers, free)
    }
}

/// A partition, and how far its owner has read.
package struct ReadPosition: Hashable, Sendable {
    package var claim: Claim
    /// The place of the last change that was read.
    package var readUpTo: Int64

    package init(claim: Claim, readUpTo: Int64) { (self.claim, self.readUpTo) = (claim, readUpTo) }
}

/// Which work is pending in a partition.
package struct PendingWork: Hashable, Sendable {
    package var partition: Int
    /// Whether there are changes after the last one that was read.
    package var hasChanges: Bool
    /// Whether parked changes are due.
    package var hasDue: Bool

    package init(partition: Int, hasChanges: Bool, hasDue: Bool) {
        (self.partition, self.hasChanges, self.hasDue) = (partition, hasChanges, hasDue)
    }
}

/// Facts about a log, for status and metrics.
package struct Backlog: Hashable, Sendable {
    /// Facts about one partition.
    package struct Part: Hashable, Sendable {
        package var partition: Int
        /// Nil: none.
        package var owner: String?
        package var position: Int64
        /// Changes in the log.
        package var entries: Int
        /// How long the oldest change in the log has waited. Nil if there is none.
        package var oldestAge: Duration?
        package var parked: Int

        package init(
            partition: Int, owner: String?, position: Int64, entries: Int, oldestAge: Duration?, parked: Int
        ) {
            (self.partition, self.owner, self.position) = (partition, owner, position)
            (self.entries, self.oldestAge, self.parked) = (entries, oldestAge, parked)
        }
    }

    /// In the order of their numbers.
    package var parts: [Part]
    /// The member that reads the feed. Nil: none.
    package var leader: String?
    package var dead: Int
    /// How many leases were taken over from an owner that had not released them, since the log was created.
    package var takeovers: Int
    /// How many commits were refused, since this handle was opened.
    package var fencedCommits: Int

    package init(parts: [Part], leader: String?, dead: Int, takeovers: Int, fencedCommits: Int) {
        (self.parts, self.leader, self.dead) = (parts, leader, dead)
        (self.takeovers, self.fencedCommits) = (takeovers, fencedCommits)
    }

    /// Changes in the log, of all partitions. Parked changes are not included.
    package var entries: Int { parts.reduce(0) { $0 + $1.entries } }
}
