/// How a member of a fleet works. The time of a lease is the log's, because all members must agree on it.
package struct FleetSettings: Sendable {
    /// How long before its expiry a lease is no longer trusted.
    package var margin = Duration.seconds(1)
    /// How long to wait for news before looking again.
    package var poll = Duration.seconds(1)
    /// The longest wait before a failed call is tried again.
    package var longestBackoff = Duration.seconds(5)
    package var work = Work()
    package var isolation = Isolation()
    package var leader = Leader()

    package init() {}

    /// How many changes a member works on at once.
    package struct Work: Sendable {
        /// Of one partition.
        package var window = 1_000
        /// In one call of the processor.
        package var batch = 100
        /// How many such calls may be under way for one partition.
        package var batchesAtOnce = 4
        /// Of all partitions. They are finished before a partition is given back.
        package var inWork = 1_000

        /// Fewer changes are not worth a call of the processor, if there are more.
        var worthwhile: Int { max(1, batch / 2) }
    }

    /// How a change that may end the process is tried alone.
    package struct Isolation: Sendable {
        /// A document is dead after this many tries that failed, or whose process ended soon.
        package var attempts = 5
        /// A process that ends later than this after such an attempt began has most likely ended for another reason.
        package var survival = Duration.seconds(1)
        /// How many tries that the process survived for this time count as one, if it then ended without an answer. So
        /// random kills rarely make a document dead that takes long.
        package var survivalsPerAttempt = 4
        /// A member that lost its engine, or was cut off, is back among the members after this time. A partition
        /// must be held this long before it is known which processes have ended.
        package var settlingTime = Duration.seconds(15)
        /// How long to wait after the first failed try. Doubles with every further one.
        package var retryDelay = Duration.seconds(1)
        /// After how many lost owners without progress every change is tried alone.
        package var suspiciousTakeovers = 2
    }

    /// How the leader fills the log.
    package struct Leader: Sendable {
        /// How many changes are appended at once at most.
        package var appendLimit = 500
        /// The leader stops reading while more changes than this are in the log.
        package var backlogLimit = 1_000_000
        /// How often the answered sequence is recorded outside the log.
        package var answeredInterval = Duration.seconds(10)
    }
}

/// What the code of a fleet gets from outside.
package struct FleetEnvironment: Sendable {
    package var clock: any FleetClock
    /// A number from 0 up to, not including, 1.
    package var random: @Sendable () -> Double
    /// Told what happens, for logs and metrics. Must not block.
    package var note: @Sendable (FleetNote) -> Void

    package init(
        clock: any FleetClock = SystemFleetClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        note: @escaping @Sendable (FleetNote) -> Void = { _ in }
    ) {
        (self.clock, self.random, self.note) = (clock, random, note)
    }
}

/// Something that happened to a member.
package enum FleetNote: Hashable, Sendable {
    /// A lease was granted. For a partition: after this many owners that lost it without progress.
    case gained(LeaseName, takeovers: Int)
    /// A lease was given back.
    case released(LeaseName)
    /// Another member has the lease, or it is void.
    case lost(LeaseName)
    /// A call under this lease was refused.
    case fenced(LeaseName)
    /// It is unknown whether a commit under this lease is stored.
    case unknownCommit(LeaseName)
    /// A call failed and is tried again after this time.
    case unavailable(reason: String, retryAfter: Duration)
    /// This number of changes was appended.
    case appended(Int)
    /// A commit of this partition was stored, with the numbers of changes that it deleted from the log, parked, and dead-lettered.
    case committed(partition: Int, parked: Int, dead: Int)
    /// The leader waits, because this number of changes is in the log.
    case backlogFull(Int)
}

/// Waits between tries of a call: exponential with full jitter.
struct Backoff {
    private var failures = 0
    private let environment: FleetEnvironment
    private let longest: Duration

    init(_ settings: FleetSettings, _ environment: FleetEnvironment) {
        longest = settings.longestBackoff
        self.environment = environment
    }

    /// The time until the next try; up to 0.2 s after the first failure.
    mutating func next(_ error: WorkLogError) -> Duration {
        failures = min(failures + 1, 20)
        let limit = min(.milliseconds(100 << failures), longest)
        let time = limit * environment.random()
        environment.note(.unavailable(reason: "\(error)", retryAfter: time))
        return time
    }

    mutating func reset() { failures = 0 }
}
