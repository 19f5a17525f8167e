internal import Locking

/// Folders with files that a power cut may still take away: their bytes are on the disk, their names may not be.
final class UnsyncedFolders: Sendable {
    private let paths = Locked<Set<String>>([])

    func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    /// Returns once all that was noted is on the disk.
    func sync() {
        let noted = paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
        for path in noted { WholeFile.sync(folder: path) }
    }
}
