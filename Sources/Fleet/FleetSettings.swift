internal import Locking

/// How a member of a fleet works. The duration of a lease belongs to the log, because all members must agree on it.
package struct FleetSettings: Sendable {
    /// How long before its expiry a lease is no longer trusted.
    package var margin = Duration.seconds(1)
    /// How long one call waits for new changes.
    package var poll = Duration.seconds(1)
    /// The longest wait before a failed call is repeated.
    package var maxBackoff = Duration.seconds(5)
    package var work = Work()
    package var isolation = Isolation()
    package var leader = Leader()

    package init() {}

    /// The maximum number of changes that a member works on at once.
    package struct Work: Sendable {
        /// Of one partition.
        package var window = 1_000
        /// In one call of the processor.
        package var batch = 100
        /// How many calls of the processor may be under way for one partition.
        package var batchesAtOnce = 4
        /// Of all partitions. A partition is released after its changes under way are finished.
        package var inProgress = 1_000

        /// While more changes wait, the processor is not called with fewer than this.
        var minBatch: Int { max(1, batch / 2) }
    }

    /// How a change that may have crashed the process is attempted in isolation.
    package struct Isolation: Sendable {
        /// A document is dead-lettered after this many attempts that failed or crashed the process.
        package var attempts = 5
        /// A process that ends later than this after such an attempt began most likely ended for another reason.
        package var survivalTime = Duration.seconds(1)
        /// If the process ends after it has survived an attempt for this time, this many such attempts count as one. So
        /// random kills rarely dead-letter a slow document.
        package var survivalsPerAttempt = 4
        /// A member that lost its connection to the engine has rejoined after this time. A partition must be held this
        /// long before it is known which processes have ended.
        package var settlingTime = Duration.seconds(15)
        /// How long to wait after the first failed attempt. Doubles with each further one.
        package var retryDelay = Duration.seconds(1)
        /// After this many owners were lost without progress, every change is attempted in isolation.
        package var suspiciousTakeovers = 2
    }

    /// How the leader fills the log.
    package struct Leader: Sendable {
        /// The maximum number of changes in one append.
        package var appendLimit = 500
        /// The leader stops reading while more changes than this are in the log.
        package var backlogLimit = 1_000_000
        /// How often the answered sequence is recorded outside the log.
        package var answeredInterval = Duration.seconds(10)
    }
}

/// The dependencies of the fleet code that tests replace.
package struct FleetEnvironment: Sendable {
    package var clock: any FleetClock
    /// A number from 0 up to, not including, 1.
    package var random: @Sendable () -> Double
    /// Receives what happens, for logs and metrics. Must not block.
    package var note: @Sendable (FleetNote) -> Void

    package init(
        clock: any FleetClock = SystemFleetClock(),
        random: @escaping @Sendable () -> Double = { SystemRandom.fraction() },
        note: @escaping @Sendable (FleetNote) -> Void = { _ in }
    ) {
        (self.clock, self.random, self.note) = (clock, random, note)
    }
}

/// Something that happened to a member.
package enum FleetNote: Hashable, Sendable {
    /// A lease was granted. `takeovers`: how many owners lost the partition since its last progress.
    case gained(LeaseName, takeovers: Int)
    /// A lease was released.
    case released(LeaseName)
    /// Another member has the lease, or it is void.
    case lost(LeaseName)
    /// A call under this lease was refused.
    case fenced(LeaseName)
    /// It is unknown whether a commit under this lease is stored.
    case unknownCommit(LeaseName)
    /// A call failed and is repeated after this time.
    case unavailable(reason: String, retryAfter: Duration)
    /// This number of changes was appended.
    case appended(Int)
    /// A commit of this partition was stored, which parked and dead-lettered these numbers of changes.
    case committed(partition: Int, parked: Int, dead: Int)
    /// The leader waits, because this number of changes is in the log.
    case backlogFull(Int)
}

/// Waits between attempts of a call: exponential with full jitter.
struct Backoff {
    private var failures = 0
    private let environment: FleetEnvironment
    private let longest: Duration

    init(_ settings: FleetSettings, _ environment: FleetEnvironment) {
        longest = settings.maxBackoff
        self.environment = environment
    }

    /// The time until the next attempt; up to 0.2 s after the first failure.
    mutating func next(_ error: WorkLogError) -> Duration {
        failures = min(failures + 1, 20)
        let limit = min(.milliseconds(100 << failures), longest)
        let time = limit * environment.random()
        environment.note(.unavailable(reason: "\(error)", retryAfter: time))
        return time
    }

    mutating func reset() { failures = 0 }
}
