internal import Foundation
internal import PostgreSQL

/// The processes of one fleet.
final class FleetProcesses {
    let engine: BenchmarkEngine
    let name: String
    private(set) var members: [Process] = []

    init(_ engine: BenchmarkEngine, name: String) { (self.engine, self.name) = (engine, name) }

    private var schema: String { BenchmarkEngine.schema(of: name) }

    /// How many changes were ever in the log.
    func appended() throws -> Int { try engine.rows("SELECT n FROM \(schema).fleet")[0][0].int ?? 0 }

    /// Of all partitions.
    func positions() throws -> [Int64] {
        try engine.rows("SELECT position FROM \(schema).partition_position ORDER BY partition")
            .map { Int64($0[0].int ?? 0) }
    }

    /// - Parameter processor: The only one that it and its helpers may use. Nil: all.
    @discardableResult
    func start(_ role: String, on processor: Int?, options: [String], in directory: String) throws -> Process {
        let state = directory + "/\(name)-\(members.count)"
        let command =
            [Program.path, "run", "--quiet", "--engine", engine.url, "--fleet", name, "--role", role]
            + ["--state", state] + options
        return try add(Processors.pinned(command, to: processor))
    }

    /// Starts a process that ends with the others.
    func add(_ command: [String]) throws -> Process {
        let process = try Program.start(command)
        members.append(process)
        return process
    }

    /// Waits until so many members share the partitions fairly, and one reads the feed.
    func waitUntilShared(among workers: Int) throws {
        let lease = "\(schema).work_lease"
        // A fair share, rounded up, is the most that one has.
        let shares = """
            SELECT count(*)::int, sum(n)::int, max(n)::int, (SELECT count(*)::int FROM \(lease)
                WHERE name = 'feed' AND until > clock_timestamp())
            FROM (SELECT count(*) AS n FROM \(lease) WHERE name <> 'feed' AND until > clock_timestamp()
                GROUP BY owner) s
            """
        try wait("the members do not share the work") {
            guard try !engine.rows("SELECT FROM pg_tables WHERE schemaname = 'changebot_\(name)'").isEmpty,
                let row = try engine.rows(shares).first, let sum = row[1].int, let most = row[2].int
            else { return false }
            return row[0].int == workers && sum == FleetCommand.partitions && row[3].int == 1
                && most == (FleetCommand.partitions - 1) / workers + 1
        }
    }

    /// Looks every 20 ms.
    ///
    /// - Parameter time: For how long at most.
    func wait(_ complaint: String, within time: Duration = .seconds(60), until isDone: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + time
        while try !isDone() {
            guard members.allSatisfy(\.isRunning) else { throw BenchmarkError("a member has ended") }
            guard ContinuousClock.now < deadline else { throw BenchmarkError(complaint) }
            usleep(20_000)
        }
    }

    /// Ends all members, and removes what they have made.
    func end() {
        for member in members { member.terminate() }
        for member in members { member.waitUntilExit() }
        members = []
        do { try engine.remove(name) } catch { print("  can't remove the fleet \(name): \(error)") }
    }
}

/// The processors of this machine.
enum Processors {
    static var count: Int { ProcessInfo.processInfo.activeProcessorCount }

    /// A command that runs on one processor only, with all that it starts.
    ///
    /// - Parameter processor: Counted on from the last if there are fewer. Nil: any.
    static func pinned(_ command: [String], to processor: Int?) -> [String] {
        guard let processor else { return command }
        return ["/usr/bin/taskset", "--cpu-list", "\(processor % count)"] + command
    }
}
