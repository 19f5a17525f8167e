internal import Encodings
internal import GatewayClient
internal import Locking
package import PostgreSQL

/// Where a fleet keeps its state: a schema of a PostgreSQL database (`--engine`, `--fleet`).
package struct Engine: MarkLock {
    /// The shortest lease. A shorter one, less the margin, would expire with any slow answer.
    package static let minLease: Duration = .seconds(2)
    package static let defaultLease: Duration = .seconds(5)
    /// A schema's name has at most 63 bytes, including `changebot_fix-`.
    package static let maxNameLength = 49

    package let address: PostgresAddress
    package let fleet: String
    /// Nil: the user in the address, or else the operating system's user.
    package let user: String?
    /// Called for each connection. Nil: no password, or that of a `.pgpass` file.
    package let password: @Sendable () throws -> String?
    /// The time after which another member takes over from a silent one.
    package let lease: Duration
    /// Whether the server may run with `fsync=off`.
    package let allowsUnsafe: Bool
    /// Shared by all copies of this value in the process.
    private let process = Process()
    /// Ensures in each transaction that this process may write. Nil: the lease of the active member does.
    private(set) var fence: EngineStore.Fence?
    /// Ends the calls of a process that must end. Nil: each call has its own deadline.
    private(set) var limit: CallLimit?
    /// How much time the calls have together that remain when a process has ended its work.
    package var remainingCallsTime: Duration = .seconds(3)
    /// Observes each transaction. Taken from the task that made this value, because connections are made in other
    /// tasks.
    private let observer = DurableStep.transactionObserver

    /// The options that select this engine through a configuration file, and the fleet that they select; nil without a
    /// file.
    package var configured: (options: String, fleet: String)?

    /// Does not connect yet.
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
        let owner = SystemRandom.identifier()
        let counters = FleetCounters()
        let clock = EngineClock()
        let renewals = LeaseRenewals()
    }

    /// Identifies this process.
    package var owner: String { process.owner }
    /// The fleet counters of this process.
    package var counters: FleetCounters { process.counters }
    /// The difference between this machine's clock and the engine's.
    package var clock: EngineClock { process.clock }
    /// Renews the lease under which this process alone works for the fleet.
    var renewals: LeaseRenewals { process.renewals }

    /// The same engine with another fleet.
    package func with(fleet: String) -> Engine {
        var engine = Engine(
            address, fleet: fleet, user: user, password: password, lease: lease, allowsUnsafe: allowsUnsafe)
        engine.configured = configured
        engine.remainingCallsTime = remainingCallsTime
        return engine
    }

    /// The same engine, for one of the many databases of a bot: each has a fleet.
    package func with(database: String) -> Engine {
        let segment = KeyspaceName.pathSegment(of: database)
        let name = "\(fleet).\(segment)"
        guard name.utf8.count > Self.maxNameLength else { return with(fleet: name) }
        // The end of a long name is replaced by a digest of the whole.
        let digest = Digest.sha256.hex(Array(name.utf8)).prefix(16)
        return with(fleet: "\(name.prefix(Self.maxNameLength - 17)).\(digest)")
    }

    /// The same engine, for a process that shares the work with others.
    package func with(fence: @escaping EngineStore.Fence) -> Engine {
        var engine = self
        engine.fence = fence
        return engine
    }

    /// The same engine, whose calls end early when the process must end.
    package func with(limit: CallLimit) -> Engine {
        var engine = self
        engine.limit = limit
        return engine
    }

    /// Call this when the process has ended its work: all remaining calls share a short time.
    package func limitRemainingCalls() { limit?.set(.now + remainingCallsTime) }

    /// The same for a process that has no time left.
    package func abortRemainingCalls() { limit?.set(.now + .milliseconds(300)) }

    /// Call this when the process no longer leads, but continues.
    package func allowCalls() { limit?.removeLimit() }

    /// Where the tables are.
    package var schema: String { "changebot_\(fleet)" }

    /// The fleet for `changebot fix` and for passes over all documents; nil if this is such a fleet.
    var fixEngine: Engine? {
        fleet.hasPrefix(Self.fixPrefix) ? nil : with(fleet: Self.fixPrefix + fleet)
    }

    private static let fixPrefix = "fix-"

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
        // Renewals notice a dead connection and reconnect. Work on an old connection must not hang much longer.
        settings.acknowledgementTimeout = min(deadline, max(lease / 2, .seconds(2)))
        settings.applicationName = "changebot \(fleet)"
        // A member that is paused in a transaction must not block others for longer than its lease.
        settings.idleInTransactionTimeout = min(deadline, lease / 2)
        settings.observer = observer
        return PostgresQueue(address, user: user, settings: settings, password: password)
    }

    /// The longest time for which a member that hangs with the lock blocks others that open the state.
    private static let maxMarkWait: Duration = .seconds(30)

    /// CouchDB checks no revisions of local documents. Without this lock, two members that mark a new database at once
    /// would disagree about its identity, and a late write of an older mark would look like a restored database.
    ///
    /// - Parameter waits: Whether to wait for another member that has the lock, and to throw if the engine does not
    ///   answer. Otherwise `body` is left out in both cases.
    /// - Throws: ``StateError/engineUnavailable(_:)``; what `body` throws.
    package func withExclusiveMark(waits: Bool, _ body: () async throws -> Void) async throws {
        let queue = makeQueue()
        // The passes of a fleet write the same mark.
        let schema =
            (fleet.hasPrefix(Self.fixPrefix)
            ? with(fleet: String(fleet.dropFirst(Self.fixPrefix.count))) : self).schema
        // Also releases the lock.
        defer { queue.close() }
        let end = ContinuousClock.now + Self.maxMarkWait
        while .now < end {
            let isOwnLock: Bool?
            do throws(StateError) { isOwnLock = try await lockMark(of: schema, queue) } catch {
                if waits { throw error }
                return
            }
            guard isOwnLock == false else { break }
            guard waits else { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await body()
    }

    /// Nil: the engine refused, and opening the state says why.
    private func lockMark(of schema: String, _ queue: PostgresQueue) async throws(StateError) -> Bool? {
        do {
            return try await queue.perform { connection in
                try connection.run("SELECT pg_try_advisory_lock(hashtextextended($1, 3))", [.text(schema)])
                    .rows.first?.first == .int(1)
            }
        } catch {
            let error = StateError.engine(self, .reading, error)
            if case .engineUnavailable = error { throw error }
            return nil
        }
    }
}
