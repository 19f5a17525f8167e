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
    /// Of this process, in all copies of this value.
    private let process = Process()
    /// Makes sure, in each transaction, that this process may write. Nil: the lease of the one that runs does.
    private(set) var fence: EngineStore.Fence?
    /// Ends the calls of a process that must end. Nil: each has its own deadline.
    private(set) var limit: CallLimit?
    /// Told of each transaction: that of the task that made this value. Connections are made elsewhere.
    private let observer = DurableStep.transactionObserver

    /// The options that find this engine by a configuration file, and the fleet that they find; nil without a file.
    package var configured: (options: String, fleet: String)?

    /// Connects to nothing yet.
    package init(
        _ address: PostgresAddress, fleet: String, user: String? = nil,
        password: @escaping @Sendable () throws -> String? = { nil }, lease: Duration = Self.defaultLease,
        allowsUnsafe: Bool = false
    ) {
        self.address = address
        self.fleet = fleet
        self.user = user
        self.password = password
        self.lease = lease
        self.allowsUnsafe = allowsUnsafe
    }

    private struct Process {
        let owner = UUID().uuidString
        let tally = FleetTally()
        let clock = EngineClock()
        let renewals = LeaseRenewals()
    }

    /// Tells this process from all others.
    package var owner: String { process.owner }
    /// What this process has met.
    package var tally: FleetTally { process.tally }
    /// How far this machine's clock is from the engine's.
    package var clock: EngineClock { process.clock }
    /// Renews the lease under which this process acts alone.
    var renewals: LeaseRenewals { process.renewals }

    /// The same engine for another fleet on it.
    package func with(fleet: String) -> Engine {
        var engine = Engine(
            address, fleet: fleet, user: user, password: password, lease: lease, allowsUnsafe: allowsUnsafe)
        engine.configured = configured
        return engine
    }

    /// The same, for a process that shares the work with others.
    package func with(fence: @escaping EngineStore.Fence) -> Engine {
        var engine = self
        engine.fence = fence
        return engine
    }

    /// The same, with calls that end in time when the process must.
    package func with(limit: CallLimit) -> Engine {
        var engine = self
        engine.limit = limit
        return engine
    }

    /// The process has ended its work: what is left to say to the engine shares a short time.
    package func endCallsSoon() { limit?.set(.now + Self.timeToLeave) }

    private static let timeToLeave: Duration = .seconds(3)

    /// The same for a process that was given no more time.
    package func endCallsNow() { limit?.set(.now + .milliseconds(300)) }

    /// A turn is over, but not the process.
    package func allowCalls() { limit?.lift() }

    /// Where the tables are.
    package var schema: String { "changebot_\(fleet)" }

    /// The fleet of `changebot fix`, and of rules that are applied to all documents; nil if this is one.
    var fixes: Engine? {
        fleet.hasPrefix(Self.prefixOfFixes) ? nil : with(fleet: Self.prefixOfFixes + fleet)
    }

    private static let prefixOfFixes = "fix-"

    /// For messages; without credentials.
    package var description: String { "the fleet '\(fleet)' on \(address)" }

    /// The options with which other commands find the state.
    package var options: String {
        guard let configured else { return "--engine \("\(address)".shellWord) --fleet \(fleet.shellWord)" }
        return configured.options + (fleet == configured.fleet ? "" : " --fleet \(fleet.shellWord)")
    }

    /// A connection that is made when it is first used.
    ///
    /// - Parameter deadline: For each call.
    package func makeQueue(deadline: Duration = .seconds(10)) -> PostgresQueue {
        var settings = PostgresSettings()
        settings.schema = schema
        settings.limit = limit
        settings.deadline = deadline
        // Renewals notice a dead connection, and go on with another one; work on an old one must not hang for much longer.
        settings.acknowledgementTimeout = min(deadline, max(lease / 2, .seconds(2)))
        settings.applicationName = "changebot \(fleet)"
        // A member that stands still in a transaction must not keep others waiting for longer than its lease.
        settings.idleInTransactionTimeout = min(deadline, lease / 2)
        settings.observer = observer
        return PostgresQueue(address, user: user, settings: settings, password: password)
    }

    /// The longest time for which a member that hangs with the lock blocks others that open the state.
    private static let longestOpening: Duration = .seconds(30)

    /// Calls `body` while no other member writes the mark of the database.
    ///
    /// CouchDB checks no revisions of local documents. Two members that mark a new database at once would each take it
    /// for a database of their own, and a mark that is written late over a newer one would look like a restored database.
    ///
    /// - Parameter waits: Whether to wait for others, for some time. Else nothing is done if another is at it.
    package func whileAloneWithMark(waits: Bool, _ body: () async throws -> Void) async throws {
        let queue = makeQueue()
        // The passes of a fleet write the same mark.
        let schema =
            (fleet.hasPrefix(Self.prefixOfFixes)
            ? with(fleet: String(fleet.dropFirst(Self.prefixOfFixes.count))) : self).schema
        // Gives the lock back, too.
        defer { queue.close() }
        let end = ContinuousClock.now + Self.longestOpening
        while .now < end {
            let isMine = try? await queue.perform { connection in
                try connection.run("SELECT pg_try_advisory_lock(hashtextextended($1, 3))", [.text(schema)])
                    .rows.first?.first == .int(1)
            }
            if isMine == true { break }
            guard waits else { return }
            // If the engine is unreachable, opening the state reports it.
            guard isMine != nil else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await body()
    }
}
