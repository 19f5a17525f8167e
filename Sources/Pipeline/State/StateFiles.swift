internal import Foundation

/// The files of one state: `NAME.sqlite` with what SQLite puts beside it, and `NAME.lock`.
struct StateFiles {
    let directory: String
    let database: String
    let lock: String

    init(directory: String, name: String) {
        self.directory = directory
        database = "\(directory)/\(name).sqlite"
        lock = "\(directory)/\(name).lock"
    }

    /// Makes the directory (0700) and the database file (0600) if they are missing.
    ///
    /// - Returns: Whether the file was there before.
    /// - Throws: ``StateError``: `.cannotCreate`, also for a file that is a symbolic link.
    func create() throws(StateError) -> Bool {
        let exists = try exists()
        // SQLite creates files with 0644 less the umask; it keeps the mode of one that is there, and gives it to the
        // files beside it.
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path: database, reason: String(cString: strerror(errno))) }
        fchmod(descriptor, 0o600)
        close(descriptor)
        return exists
    }

    /// - Throws: ``StateError``: `.cannotCreate`.
    func createDirectory() throws(StateError) {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .cannotCreate(path: directory, reason: error.localizedDescription)
        }
    }

    /// Whether there is a state.
    ///
    /// - Throws: ``StateError``: `.unreadable` if what is there is no file of its own. Whoever may write beside the
    ///   state must not be able to aim it at another file.
    func exists() throws(StateError) -> Bool {
        var information = stat()
        guard lstat(database, &information) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw .unreadable(path: database, reason: String(cString: strerror(errno)))
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw .unreadable(path: database, reason: "it is no regular file; name the file itself, not a link to it")
        }
        return true
    }
}
