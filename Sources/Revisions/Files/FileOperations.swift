internal import FoundationEssentials
internal import Glibc

/// Operations on whole files by path.
package enum FileOperations {
    /// Replaces a file atomically and durably: writes `path.new`, syncs it and renames it.
    package static func write(_ bytes: [UInt8], to path: String) throws(TransferError) {
        let temporary = path + ".new"
        do throws(TransferError) {
            let file = try OpenFile(creating: temporary)
            try file.truncate(to: 0)
            try file.write(bytes)
            try file.sync()
            try rename(temporary, to: path)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// The content of a file; nil if it does not exist.
    ///
    /// - Parameter whole: Whether a file longer than `limit` is an error; otherwise only its beginning is read.
    package static func read(_ path: String, limit: Int = 64 << 20, whole: Bool = true) throws(TransferError)
        -> [UInt8]?
    {
        guard exists(path) else { return nil }
        let file = try OpenFile(reading: path)
        var bytes: [UInt8] = []
        while true {
            let piece = try file.read(upTo: 64 << 10)
            guard !piece.isEmpty else { return bytes }
            bytes += piece
            guard bytes.count <= limit else {
                guard whole else { return bytes }
                throw TransferError(.invalid, "\(path) is larger than \(limit >> 20) MiB; correct the path")
            }
        }
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package static func isFolder(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    /// `TMPDIR`, or the system's default.
    package static var temporaryDirectory: String { FileManager.default.temporaryDirectory.path }

    package static func remove(_ path: String) { unlink(path) }

    /// Whether two paths lead to the same existing file.
    package static func areSame(_ path: String, _ other: String) -> Bool {
        var (file, another) = (stat(), stat())
        guard stat(path, &file) == 0, stat(other, &another) == 0 else { return false }
        return file.st_dev == another.st_dev && file.st_ino == another.st_ino
    }

    /// Renames a file and syncs the folder.
    package static func rename(_ old: String, to new: String) throws(TransferError) {
        try renameUnsynced(old, to: new)
        sync(folder: directory(of: new))
    }

    /// A power failure may undo the rename until the folder is synced.
    package static func renameUnsynced(_ old: String, to new: String) throws(TransferError) {
        guard Glibc.rename(old, new) == 0 else {
            throw TransferError(.cannotWrite, "can't write \(new): \(String(cString: strerror(errno)))")
        }
    }

    package static func sync(folder path: String) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Explains why a file can't be opened or created.
    ///
    /// - Parameter code: The system's `errno`.
    package static func obstacle(_ code: Int32, to path: String) -> String {
        let folder = directory(of: path)
        guard code == ENOENT, !exists(folder) else { return String(cString: strerror(code)) }
        return "there is no folder \(folder); create it, or choose another path"
    }
}
