internal import Foundation
import Glibc
internal import Locking

/// A PostgreSQL server for tests: a new cluster in a temporary folder, on a loopback port, with the superuser
/// `postgres` and without passwords. It is killed and removed when this object is released or the test process ends.
///
/// Roles with the role `with_password` log in with their passwords over TCP.
package final class TestPostgres: Sendable {
    /// A server for the whole test process, started at the first access. For tests that do not disturb it.
    package static var shared: TestPostgres { get throws { try started.get() } }
    private static let started = Result { try TestPostgres() }

    /// A cluster that is copied for each server: `initdb` takes half a second of processor time.
    private static let newCluster = Result { try PostgresCluster(PostgresPrograms()) }

    /// The port on 127.0.0.1.
    package let port: Int
    /// The folder of its Unix socket.
    package let socketFolder: String
    private let programs: PostgresPrograms
    private let data: String
    private let settings: [String]
    private let server = Locked<ChildProcess?>(nil)
    private let guardian: ChildProcess
    private let count = Locked(0)

    /// Makes the cluster and starts the server.
    ///
    /// - Parameters:
    ///   - settings: More settings, such as `max_connections=10`.
    ///   - certificate: The server's certificate; nil: without TLS.
    /// - Throws: ``TestPostgresError`` if PostgreSQL is not installed, or does not start.
    package convenience init(settings: [String] = [], certificate: TestCertificate? = nil) throws {
        try self.init(settings, certificate) { programs, data in
            try programs.copy(cluster: Self.newCluster.get().data, to: data)
        }
    }

    /// Copies a running server, and follows it as a standby server until ``promote()``. Settings that the other one was
    /// started with are not copied.
    package convenience init(standbyOf primary: TestPostgres) throws {
        try self.init([], nil) { programs, data in
            try programs.run(
                "pg_basebackup",
                ["-h", primary.socketFolder, "-p", "\(primary.port)", "-U", "postgres", "-D", data]
                    + ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"], log: data + ".log")
        }
    }

    private init(
        _ settings: [String], _ certificate: TestCertificate?,
        makeCluster: (PostgresPrograms, _ data: String) throws -> Void
    ) throws {
        programs = try PostgresPrograms()
        let folder = try programs.makeFolder()
        guardian = try programs.guardian(of: folder)
        (socketFolder, data) = (folder, folder + "/data")
        port = try FreePort.findForRestarts()
        try makeCluster(programs, data)
        var settings = settings
        if let certificate {
            try programs.copy(certificate.file, to: folder + "/server.crt")
            try programs.copy(certificate.keyFile, to: folder + "/server.key")
            settings += ["ssl=on", "ssl_cert_file=\(folder)/server.crt", "ssl_key_file=\(folder)/server.key"]
        }
        self.settings = settings
        try start()
    }

    deinit {
        thaw()
        server.withLock { $0 }?.kill()
        guardian.endInput(with: "")
        guardian.blockUntilEnd()
    }

    /// The address of a database over TCP.
    package func url(_ database: String = "postgres", query: String = "") -> String {
        "postgres://postgres@127.0.0.1:\(port)/\(database)\(query)"
    }

    /// The first process of the server; the others are its children. Nil if it was stopped.
    package var processID: Int32? { server.withLock { $0.flatMap { $0.hasEnded ? nil : $0.id } } }

    /// A name that no other test of this server uses, for a schema, database or role.
    package func uniqueName(_ prefix: String = "test") -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return "\(prefix)_\(number)"
    }

    /// Creates an empty database.
    package func createDatabase(_ name: String) throws {
        let arguments = ["-h", socketFolder, "-p", "\(port)", "-U", "postgres", name]
        try programs.run("createdb", arguments, log: socketFolder + "/createdb.log")
    }

    /// Writes all that a schema of the database `postgres` has into a file, as an operator does, and returns its path.
    package func dump(schema: String) throws -> String {
        let file = socketFolder + "/dump.sql"
        let arguments = ["-h", socketFolder, "-p", "\(port)", "-U", "postgres", "-n", "\"\(schema)\"", "-f", file]
        try programs.run("pg_dump", arguments + ["postgres"], log: socketFolder + "/pg_dump.log")
        return file
    }

    /// Makes again what is in a file of ``dump(schema:)`` and no longer there.
    package func restore(_ file: String) throws {
        let arguments = [
            "-h", socketFolder, "-p", "\(port)", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "-f", file,
        ]
        try programs.run("psql", arguments + ["postgres"], log: socketFolder + "/psql.log")
    }

    // MARK: - Faults

    /// Makes a standby server a primary one, whose timeline is new.
    package func promote() throws {
        try programs.run("pg_ctl", ["promote", "-D", data], log: socketFolder + "/promote.log")
    }

    /// Restarts the server after ``stop(signal:)``, and returns when it accepts connections.
    package func start() throws {
        let log = socketFolder + "/server.log"
        let options = [
            "listen_addresses=127.0.0.1", "unix_socket_directories=\(socketFolder)", "fsync=on", "lc_messages=C",
            // For many concurrent tests.
            "max_connections=500",
            // A small server, whose processes start and end faster.
            "shared_buffers=16MB", "jit=off",
            // In the folder of the data: files in /dev/shm would outlive a server that is killed.
            "dynamic_shared_memory_type=mmap",
            // For standby servers: the segments of the cluster are small.
            "wal_keep_size=64MB",
        ]
        let process = try programs.start(
            "postgres", ["-D", data, "-p", "\(port)"] + (options + settings).flatMap { ["-c", $0] }, log: log)
        // A backend that waited for a standby server while its server was killed reads commands from here (PostgreSQL
        // 15). It ends at the end of input; otherwise it would live for ever.
        process.endInput(with: "")
        server.withLock { $0 = process }
        let end = ContinuousClock.now + .seconds(60)
        while !["ready", "standby"].contains(status(of: process)) {
            guard ContinuousClock.now < end, !process.hasEnded else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestPostgresError(description: "PostgreSQL does not start: \(text.suffix(1000))")
            }
            usleep(20_000)
        }
    }

    /// Ends the server and waits for its end.
    ///
    /// - Parameter signal: SIGKILL as in a crash; SIGQUIT: immediately; SIGINT: after rolling back; SIGTERM: when all
    ///   clients have disconnected.
    package func stop(signal: Int32 = SIGKILL) {
        guard let process = server.withLock({ $0 }) else { return }
        let children = children
        process.signal(signal)
        process.blockUntilEnd()
        // After SIGKILL they end by themselves, and the next start would have to wait for it.
        let end = ContinuousClock.now + .seconds(20)
        for child in children {
            while kill(child, 0) == 0, isAlive(child) {
                if ContinuousClock.now > end { kill(child, SIGKILL) }
                usleep(5_000)
            }
        }
    }

    /// Stops the server and all its processes: connections stay open, but requests are not answered.
    package func freeze() { signalAll(SIGSTOP) }

    /// Undoes ``freeze()``.
    package func thaw() { signalAll(SIGCONT) }

    private func signalAll(_ signal: Int32) {
        guard let process = server.withLock({ $0 }) else { return }
        // The parent first, so that no new children appear.
        process.signal(signal)
        for child in children { kill(child, signal) }
    }

    // MARK: - The server's processes

    /// Line 8 of `postmaster.pid`; nil if this process has not written it yet.
    private func status(of process: ChildProcess) -> String? {
        guard let text = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 8, lines[0] == "\(process.id)" else { return nil }
        return lines[7].trimmingCharacters(in: .whitespaces)
    }

    private var children: [Int32] {
        guard let parent = server.withLock({ $0 }) else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { Self.state(of: $0)?.parent == parent.id }
    }

    private func isAlive(_ id: Int32) -> Bool { Self.state(of: id).map { $0.state != "Z" } ?? false }

    /// The letter and the number after it, of `12 (postgres) S 1 …`.
    private static func state(of id: Int32) -> (state: Substring, parent: Int32)? {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let words = text[end...].split(separator: " ")
        guard words.count > 2, let parent = Int32(words[2]) else { return nil }
        return (words[1], parent)
    }
}

/// The error of a test server that could not be created.
package struct TestPostgresError: Error, CustomStringConvertible {
    /// The failure and the remedy, on one line.
    package let description: String
}
