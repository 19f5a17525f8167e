/// What one member at a time can hold a lease for.
package enum LeaseName: Hashable, Sendable, CustomStringConvertible {
    /// Reading the feed.
    case feed
    /// Working on a partition of the log.
    case partition(Int)

    /// As in the table `lease`: `feed`, or the partition's number in decimal.
    package var description: String {
        switch self {
        case .feed: "feed"
        case .partition(let number): "\(number)"
        }
    }

    /// Parses a ``description``. Nil if it is not one.
    package init?(_ text: String) {
        if text == "feed" {
            self = .feed
        } else {
            guard let number = Int(text), number >= 0 else { return nil }
            self = .partition(number)
        }
    }
}

/// A lease that was granted. Every grant has a higher token than the one before, even to the same owner.
package struct Lease: Hashable, Sendable {
    package var name: LeaseName
    package var token: Int64
    /// The engine's incarnation that granted it. In any other incarnation the lease is void.
    package var incarnation: String

    package init(name: LeaseName, token: Int64, incarnation: String) {
        (self.name, self.token, self.incarnation) = (name, token, incarnation)
    }
}

/// The lease of the feed, and where to read it from.
package struct Term: Hashable, Sendable {
    package var lease: Lease
    /// The sequence up to which all changes are in the log, as JSON text. Nil: nothing was ever appended.
    package var sequence: String?
    /// The place of the last change in the log; 0 if there is none.
    package var n: Int64

    package init(lease: Lease, sequence: String?, n: Int64) {
        (self.lease, self.sequence, self.n) = (lease, sequence, n)
    }
}

/// The lease of a partition, and the partition's position.
package struct Claim: Hashable, Sendable {
    package var lease: Lease
    package var partition: Int
    /// Every change of the partition up to this place is answered or parked.
    package var position: Int64
    /// How many commits the partition has had. A commit is accepted only if it is based on the latest version, so a
    /// late one changes nothing.
    package var version: Int64
    /// How many owners lost the partition without releasing it since its position last moved. Counts only owners that
    /// had left the fleet when another member took it.
    package var takeovers: Int

    package init(lease: Lease, partition: Int, position: Int64, version: Int64, takeovers: Int) {
        (self.lease, self.partition, self.position) = (lease, partition, position)
        (self.version, self.takeovers) = (version, takeovers)
    }
}

/// Up to where every change is answered: none is in the log, and none is parked.
package struct AnsweredPosition: Hashable, Sendable {
    /// A former end of the log.
    package var n: Int64
    /// The sequence up to which the feed was read then, as JSON text: a safe start if the log is lost.
    package var sequence: String

    package init(n: Int64, sequence: String) { (self.n, self.sequence) = (n, sequence) }
}
