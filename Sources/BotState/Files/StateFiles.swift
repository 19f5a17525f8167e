internal import FoundationEssentials
internal import Glibc

/// The files of one state: `NAME.sqlite`, SQLite's additional files, and `NAME.lock`.
///
/// A bot that works on several databases has one state for each: the second is `NAME@2.sqlite`. Names can't contain
/// "@".
package struct StateFiles: Sendable {
    let directory: String
    let database: String
    let lock: String
    /// See ``InterruptedDecisions``.
    var decisionNotes: String { database + ".deciding" }

    /// - Parameter number: The number of the state with this name, from 1.
    package init(directory: String, name: String, number: Int = 1) {
        self.directory = directory
        let base = "\(directory)/\(name)" + (number == 1 ? "" : "@\(number)")
        database = base + ".sqlite"
        lock = base + ".lock"
    }

    /// The numbers of all states of this name, ascending. None if the directory is missing.
    ///
    /// - Throws: ``StateError``: `.unreadable`.
    static func numbers(directory: String, name: String) throws(StateError) -> [Int] {
        let names = try fileNames(in: directory)
        let prefix = name + "@"
        let others = names.compactMap { file -> Int? in
            guard file.hasPrefix(prefix), file.hasSuffix(".sqlite") else { return nil }
            let digits = file.dropFirst(prefix.count).dropLast(".sqlite".count)
            guard let number = Int(digits), number > 1, String(number) == digits else { return nil }
            return number
        }
        return (names.contains(name + ".sqlite") ? [1] : []) + others.sorted()
    }

    /// The names of all bots with state in `directory`, sorted.
    ///
    /// - Throws: ``StateError``: `.unreadable`.
    static func names(directory: String) throws(StateError) -> [String] {
        let names = try fileNames(in: directory).filter { $0.hasSuffix(".sqlite") }.map { file in
            String(file.dropLast(".sqlite".count).prefix { $0 != "@" })
        }
        return Set(names).sorted()
    }

    private static func fileNames(in directory: String) throws(StateError) -> [String] {
        guard FileManager.default.fileExists(atPath: directory) else { return [] }
        do { return try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
            let reason = access(directory, R_OK | X_OK) == 0 ? "\(error)" : String(cString: strerror(errno))
            throw .unreadable(path: directory, reason: reason)
        }
    }

    /// Creates the database file (0600) if it is missing.
    ///
    /// - Returns: Whether the file existed before.
    /// - Throws: ``StateError``: `.cannotCreate`, also for a file that is a symbolic link.
    func create() throws(StateError) -> Bool {
        let exists = try exists()
        // SQLite creates files with 0644 less the umask. It keeps the mode of an existing file and uses it for the
        // additional files.
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path: database, reason: String(cString: strerror(errno))) }
        fchmod(descriptor, 0o600)
        close(descriptor)
        return exists
    }

    /// Creates the directory (0700) if it is missing.
    ///
    /// - Returns: The paths of the folders that were missing, each after its parent.
    /// - Throws: ``StateError``: `.cannotCreate`.
    @discardableResult
    package func createDirectory() throws(StateError) -> [String] {
        var missing: [String] = []
        var url = URL(fileURLWithPath: directory)
        while !FileManager.default.fileExists(atPath: url.path), url.path != "/" {
            missing.append(url.path)
            url.deleteLastPathComponent()
        }
        for path in missing.reversed() where mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw .cannotCreate(
                path: path, reason: "\(String(cString: strerror(errno))); choose another folder with --state")
        }
        return missing.reversed()
    }

    /// Whether there is a state.
    ///
    /// - Throws: ``StateError``: `.unreadable` if it is not a regular file. A link could point to another user's file.
    func exists() throws(StateError) -> Bool { try Self.isRegularFile(database) }

    /// The suffix of SQLite's write-ahead log.
    static let logSuffix = "-wal"

    /// Whether a process has the database open, or was killed while it did: then SQLite's shared-memory file exists.
    func hasSharedMemory() throws(StateError) -> Bool { try Self.isRegularFile(database + "-shm") }

    static func isRegularFile(_ path: String) throws(StateError) -> Bool {
        var information = stat()
        guard lstat(path, &information) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw .unreadable(path: path, reason: String(cString: strerror(errno)))
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw .unreadable(path: path, reason: "it is not a regular file; name the file itself, not a link to it")
        }
        return true
    }
}
