internal import Locking

/// Folders with new file names that a power cut could undo: the bytes of the files are on disk, their names may not be.
final class UnsyncedFolders: Sendable {
    private let paths = Locked<Set<String>>([])

    func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    /// Syncs all noted folders and forgets them.
    func sync() {
        let noted = paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
        for path in noted { WholeFile.sync(folder: path) }
    }
}
