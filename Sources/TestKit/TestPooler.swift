internal import Foundation
import Glibc

/// A PgBouncer before a ``TestPostgres``, for users without passwords. It ends when this object is released.
package final class TestPooler: Sendable {
    /// The port on 127.0.0.1.
    package let port: Int
    private let process: ChildProcess
    private let guardian: ChildProcess

    /// - Parameters:
    ///   - program: The path of `pgbouncer`.
    ///   - mode: `session`, `transaction` or `statement`.
    ///   - settings: More settings, such as `ignore_startup_parameters = options`.
    /// - Throws: ``TestPostgresError`` if it does not start.
    package init(_ program: String, before server: TestPostgres, mode: String, settings: [String] = []) throws {
        let programs = try PostgresPrograms()
        let folder = try programs.makeFolder()
        guardian = try programs.guardian(of: folder)
        port = try FreePort.findForRestarts()
        try Self.write(#""postgres" """#, to: folder + "/users.txt", programs)
        let lines =
            [
                "[databases]", "* = host=127.0.0.1 port=\(server.port)", "[pgbouncer]", "listen_addr = 127.0.0.1",
                "listen_port = \(port)", "unix_socket_dir =", "auth_type = trust", "auth_file = \(folder)/users.txt",
                "pool_mode = \(mode)",
            ] + settings
        try Self.write(lines.joined(separator: "\n") + "\n", to: folder + "/pooler.ini", programs)
        let log = folder + "/pooler.log"
        let place = program.split(separator: "/", omittingEmptySubsequences: false)
        process = try programs.start(
            String(place.last ?? ""), of: place.dropLast().joined(separator: "/"), [folder + "/pooler.ini"], log: log)
        let end = ContinuousClock.now + .seconds(30)
        while (try? String(contentsOfFile: log, encoding: .utf8))?.contains("listening on") != true {
            guard ContinuousClock.now < end, !process.hasEnded else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestPostgresError(description: "PgBouncer does not start: \(text.suffix(1000))")
            }
            usleep(20_000)
        }
    }

    deinit {
        process.kill()
        guardian.endInput(with: "")
        guardian.blockUntilEnd()
    }

    /// The address of a database through the pooler.
    package func url(_ database: String = "postgres") -> String {
        "postgres://postgres@127.0.0.1:\(port)/\(database)?sslmode=disable"
    }

    /// Writes a file that the pooler can read.
    private static func write(_ text: String, to path: String, _ programs: PostgresPrograms) throws {
        let original = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: original) }
        try text.write(toFile: original, atomically: true, encoding: .utf8)
        try programs.copy(original, to: path)
    }
}
