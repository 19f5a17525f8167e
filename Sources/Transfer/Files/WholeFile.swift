internal import Foundation

/// Whole files, by their paths.
enum WholeFile {
    /// Writes a file beside and renames it, synced: at every instant there is the old one or the new one.
    static func write(_ bytes: [UInt8], to path: String) throws(TransferError) {
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

    /// Nil if there is no such file.
    ///
    /// - Parameter whole: Whether a file beyond the limit is an error; else only its beginning is read.
    static func read(_ path: String, limit: Int = 64 << 20, whole: Bool = true) throws(TransferError) -> [UInt8]? {
        guard exists(path) else { return nil }
        let file = try OpenFile(reading: path)
        var bytes: [UInt8] = []
        while true {
            let piece = try file.read(upTo: 64 << 10)
            guard !piece.isEmpty else { return bytes }
            bytes += piece
            guard bytes.count <= limit else {
                guard whole else { return bytes }
                throw TransferError(.invalid, "\(path) is too large for what it should be")
            }
        }
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func remove(_ path: String) { unlink(path) }

    /// Whether two names lead to one file that is there.
    static func areSame(_ path: String, _ other: String) -> Bool {
        var (file, another) = (stat(), stat())
        guard stat(path, &file) == 0, stat(other, &another) == 0 else { return false }
        return file.st_dev == another.st_dev && file.st_ino == another.st_ino
    }

    /// Renames a file, and returns once that is on the disk too.
    static func rename(_ old: String, to new: String) throws(TransferError) {
        try renameUnsynced(old, to: new)
        sync(folder: directory(of: new))
    }

    /// A rename that the disk has not seen is undone by a power cut.
    static func renameUnsynced(_ old: String, to new: String) throws(TransferError) {
        guard Foundation.rename(old, new) == 0 else {
            throw TransferError(.cannotWrite, "can't write \(new): \(String(cString: strerror(errno)))")
        }
    }

    static func sync(folder path: String) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
