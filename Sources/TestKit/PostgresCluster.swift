internal import Foundation

/// The files of a new PostgreSQL cluster without a running server. They are removed when the test process ends.
///
/// The superuser is `postgres`; ``TestPostgres`` describes logins with passwords.
final class PostgresCluster: Sendable {
    /// The folder of the cluster.
    let data: String
    private let guardian: ChildProcess

    /// - Throws: ``TestPostgresError`` if `initdb` fails.
    init(_ programs: PostgresPrograms) throws {
        let folder = try programs.makeFolder()
        guardian = try programs.guardian(of: folder)
        data = folder + "/data"
        try programs.run(
            "initdb",
            ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--no-instructions", "-E", "UTF8"]
                // Segments of the log have 16 MB by default, which each copy of the cluster would repeat.
                + ["--locale=C", "--wal-segsize=1"], log: folder + "/initdb.log")
        let access = data + "/pg_hba.conf"
        let passwords = "host all +with_password 127.0.0.1/32 scram-sha-256\n"
        let others = try String(contentsOfFile: access, encoding: .utf8)
        // Written in place, so that the file keeps its owner.
        try (passwords + others).write(toFile: access, atomically: false, encoding: .utf8)
    }
}
