internal import Foundation
import Glibc

/// The programs of PostgreSQL. They refuse to run as root, so root runs them as the user `postgres`.
struct PostgresPrograms {
    private let folder: String
    private let user: (id: uid_t, group: gid_t)?

    /// Searches `CHANGEBOT_TEST_POSTGRES_BIN`, then Debian's folders, the newest version first, then `PATH`.
    ///
    /// - Throws: ``TestPostgresError`` if they are not found, or root has no user `postgres`.
    init() throws {
        let environment = ProcessInfo.processInfo.environment
        let files = FileManager.default
        let versions = ((try? files.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? [])
            .compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let places = environment["CHANGEBOT_TEST_POSTGRES_BIN"].map { [$0] } ?? versions + path
        guard let folder = places.first(where: { files.isExecutableFile(atPath: $0 + "/initdb") }) else {
            throw TestPostgresError(
                description: "no PostgreSQL server in \(places.joined(separator: ", ")): apt-get install postgresql")
        }
        self.folder = folder
        guard getuid() == 0 else {
            user = nil
            return
        }
        guard let entry = getpwnam("postgres")?.pointee else {
            throw TestPostgresError(
                description: "root has no user postgres to run PostgreSQL as: apt-get install postgresql")
        }
        user = (entry.pw_uid, entry.pw_gid)
    }

    /// The folder for clusters: not one that only the user of the tests may enter. In memory if there is enough,
    /// because new tables are new files, and each commit writes to the disk.
    private static let base: String = {
        var space = statvfs()
        let isLarge = statvfs("/dev/shm", &space) == 0 && UInt64(space.f_bavail) * UInt64(space.f_frsize) >= 2 << 30
        return isLarge ? "/dev/shm" : "/tmp"
    }()

    /// A new folder that the programs may write to.
    func makeFolder() throws -> String {
        let path = "\(Self.base)/changebot-pg-\(UUID().uuidString.prefix(13))"
        guard mkdir(path, 0o700) == 0 else { throw TestServerError(call: "mkdir") }
        if let user, chown(path, user.id, user.group) != 0 { throw TestServerError(call: "chown") }
        return path
    }

    /// Copies a file so that only the programs can read it.
    func copy(_ file: String, to path: String) throws {
        try FileManager.default.copyItem(atPath: file, toPath: path)
        chmod(path, 0o600)
        if let user, chown(path, user.id, user.group) != 0 { throw TestServerError(call: "chown") }
    }

    /// Copies the folder of a cluster without a running server; the files keep their owner.
    func copy(cluster: String, to path: String) throws {
        try run("cp", of: "/bin", ["-a", cluster, path], log: path + ".log")
    }

    func start(
        _ program: String, of folder: String? = nil, _ arguments: [String], log: String
    ) throws -> ChildProcess {
        let command = ["\(folder ?? self.folder)/\(program)"] + arguments
        guard let user else { return try ChildProcess(command, errors: log) }
        let change = ["/usr/bin/setpriv", "--reuid=\(user.id)", "--regid=\(user.group)", "--init-groups"]
        return try ChildProcess(change + command, errors: log)
    }

    /// - Throws: ``TestPostgresError`` if the exit status is not 0.
    func run(_ program: String, of folder: String? = nil, _ arguments: [String], log: String) throws {
        let process = try start(program, of: folder, arguments, log: log)
        while !process.blockForOutput(upTo: 1 << 16).isEmpty {}
        let status = process.blockUntilEnd()
        guard status == 0 else {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw TestPostgresError(description: "\(program) ended with \(status): \(text)")
        }
    }

    /// Waits for the end of its input, which occurs when the test process ends for any reason. It then kills the server
    /// with all its processes, including stopped ones, and removes the folder.
    ///
    /// A parent-death signal does not work here: it is sent when the thread that started a process ends.
    func guardian(of folder: String) throws -> ChildProcess {
        let script = """
            trap '' INT TERM HUP
            cat >/dev/null
            read server <"$1/data/postmaster.pid" && {
                children=
                for stat in /proc/[0-9]*/stat; do
                    read id name state parent rest <"$stat" && [ "$parent" = "$server" ] && children="$children $id"
                done
                kill -KILL "$server" $children
            }
            rm -rf "$1"
            """
        return try ChildProcess(["/bin/sh", "-c", script, "sh", folder])
    }
}
