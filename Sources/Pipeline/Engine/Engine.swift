internal import Encodings
internal import FoundationEssentials
package import PostgreSQL

/// Where a fleet keeps its state: a schema of a PostgreSQL database (`--engine`, `--fleet`).
package struct Engine: Sendable {
    /// The shortest lease: what is left of a shorter one, after the margin, would be over with any slow answer.
    package static let shortestLease: Duration = .seconds(2)
    package static let defaultLease: Duration = .seconds(5)
    /// A schema's name has at most 63 bytes: those of `changebot_fix-` included.
    package static let longestName = 49

    package let address: PostgresAddress
    package let fleet: String
    /// Nil: what the address says, else the name of the system's user.
    package let user: String?
    /// Asked for each connection. Nil: none, or that of a `.pgpass` file.
    package let password: @Sendable () throws -> String?
    /// The time after which another member takes over from one that is silent.
    package let lease: Duration
    /// Whether the server may run with `fsync=off`.
    package let allowsUnsafe: Bool
    /// Tells this process from all others.
    let owner: String
    /// What this process has met.
    let tally = FleetTally()
    /// Makes sure, in each transaction, that this process may write. Nil: the lease of the one that runs does.
    private(set) var fence: EngineStore.Fence?
    /// Ends the calls of a process that must end. Nil: each has its own deadline.
    private(set) var limit: CallLimit?

    /// Connects to nothing yet.
    package init(
        _ address: PostgresAddress, fleet: String, user: String? = nil,
        password: @escaping @Sendable () throws -> String? = { nil }, lease: Duration = Self.defaultLease,
        allowsUnsafe: Bool = false
    ) {
        owner = UUID().uuidString
        self.address = address
        self.fleet = fleet
        self.user = user
        self.password = password
        self.lease = lease
        self.allowsUnsafe = allowsUnsafe
    }

    /// The same engine for another fleet on it.
    package func with(fleet: String) -> Engine {
        Engine(address, fleet: fleet, user: user, password: password, lease: lease, allowsUnsafe: allowsUnsafe)
    }

    /// The same, for a process that shares the work with others.
    func with(fence: @escaping EngineStore.Fence) -> Engine {
        var engine = self
        engine.fence = fence
        return engine
    }

    /// The same, with calls that end in time when the process must.
    func with(limit: CallLimit) -> Engine {
        var engine = self
        engine.limit = limit
        return engine
    }

    /// The process has ended its work: what is left to say to the engine shares a short time.
    func endCallsSoon() { limit?.set(.now + Self.timeToLeave) }

    private static let timeToLeave: Duration = .seconds(3)

    /// The same for a process that was given no more time.
    func endCallsNow() { limit?.set(.now + .milliseconds(300)) }

    /// A turn is over, but not the process.
    func allowCalls() { limit?.lift() }

    /// Where the tables are.
    var schema: String { "changebot_\(fleet)" }

    /// The fleet of `changebot fix`, and of rules that are applied to all documents; nil if this is one.
    var fixes: Engine? {
        let prefix = "fix-"
        return fleet.hasPrefix(prefix) ? nil : with(fleet: prefix + fleet)
    }

    /// For messages; without credentials.
    package var description: String { "the fleet '\(fleet)' on \(address)" }

    /// The options with which other commands find the state.
    package var options: String { "--engine \("\(address)".shellWord) --fleet \(fleet.shellWord)" }

    /// A connection that is made when it is first used.
    ///
    /// - Parameter deadline: For each call.
    func makeQueue(deadline: Duration = .seconds(10)) -> PostgresQueue {
        var settings = PostgresSettings()
        settings.schema = schema
        settings.limit = limit
        settings.deadline = deadline
        settings.applicationName = "changebot \(fleet)"
        // A member that stands still in a transaction must not keep others waiting for longer than its lease.
        settings.idleInTransactionTimeout = min(deadline, lease / 2)
        return PostgresQueue(address, user: user, settings: settings, password: password)
    }
}
