internal import FoundationEssentials
internal import GRDB
internal import Glibc

/// Temporary copies of states. They have no name: SQLite stores large ones in a file that is already deleted, so
/// nothing remains, however the process ends.
enum StateCopy {
    private static let maxAttempts = 5
    private static let advice = "set TMPDIR to a folder with room for temporary files"

    /// A copy of an open database, in one transaction.
    ///
    /// - Throws: ``StateError``: `.cannotWrite` if there is no room for it.
    static func take(of database: DatabaseQueue, _ files: StateFiles) throws(StateError) -> DatabaseQueue {
        do {
            let copy = try DatabaseQueue(path: "")
            try database.backup(to: copy)
            return copy
        } catch {
            throw .copying(files.database, error)
        }
    }

    /// A copy of a state that no process has open, including the additional files of a killed run.
    ///
    /// For a moment there is a folder (0700) with copies of the files (0600), since SQLite must change the files of a
    /// killed run in order to read them.
    ///
    /// - Returns: Nil if the files keep changing: then a process has them open.
    /// - Throws: ``StateError``: `.unreadable`; `.cannotCreate` and `.cannotWrite` if there is no room for a copy.
    static func take(ofFiles files: StateFiles) throws(StateError) -> DatabaseQueue? {
        var folder = Array((FileManager.default.temporaryDirectory.path + "/changebot-XXXXXX").utf8CString)
        let isCreated = mkdtemp(&folder) != nil
        let reason = String(cString: strerror(errno))
        let path = String(decoding: folder.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard isCreated else { throw .cannotCreate(path: path, reason: "\(reason); \(advice)") }
        defer { try? FileManager.default.removeItem(atPath: path) }
        let target = path + "/state.sqlite"
        for _ in 0..<maxAttempts {
            let before = try versions(files)
            for suffix in ["", StateFiles.logSuffix] { try copy(files.database + suffix, to: target + suffix) }
            let after = try versions(files)
            guard before == after else { continue }
            do {
                let file = try DatabaseQueue(path: target)
                defer { try? file.close() }
                return try take(of: file, files)
            } catch {
                throw .copying(files.database, error)
            }
        }
        return nil
    }

    /// Does nothing if there is no `source`.
    private static func copy(_ source: String, to target: String) throws(StateError) {
        unlink(target)
        let input = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard input >= 0 else {
            if errno == ENOENT { return }
            throw .unreadable(path: source, reason: String(cString: strerror(errno)))
        }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw .cannotCreate(path: target, reason: String(cString: strerror(errno))) }
        defer { close(output) }
        while case let count = sendfile(output, input, nil, 1 << 30), count != 0 {
            if count > 0 || errno == EINTR { continue }
            throw .cannotWrite(
                path: StateError.copyName(source), reason: "\(String(cString: strerror(errno))); \(advice)")
        }
    }

    // MARK: - Whether files change

    /// Differs if a file was written to.
    private struct Version: Equatable {
        private var size: off_t = 0
        private var seconds = 0
        private var nanoseconds = 0

        init(_ path: String) throws(StateError) {
            guard try StateFiles.isRegularFile(path) else { return }
            var information = stat()
            guard stat(path, &information) == 0 else { return }
            size = information.st_size
            seconds = information.st_mtim.tv_sec
            nanoseconds = information.st_mtim.tv_nsec
        }
    }

    private static func versions(_ files: StateFiles) throws(StateError) -> [Version] {
        [try Version(files.database), try Version(files.database + StateFiles.logSuffix)]
    }
}
