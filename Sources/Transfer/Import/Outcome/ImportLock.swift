internal import FoundationEssentials
internal import Glibc
internal import Revisions

/// Locks a progress file against other imports until it is released or the process ends. Uses the file `FILE.lock` next
/// to it, which is removed afterwards.
final class ImportLock {
    private let path: String
    private let descriptor: Int32

    /// - Throws: ``TransferError``: `.locked`, `.cannotCreate`.
    init(_ progressPath: String) throws(TransferError) {
        path = progressPath + ".lock"
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw TransferError(.cannotCreate, "can't create \(path): \(String(cString: strerror(errno)))")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw TransferError(
                    .locked,
                    "another import keeps its progress in \(progressPath); wait for it, or choose another --progress-file"
                )
            }
            // An import that has just ended may have removed the file.
            if Self.isSame(descriptor, path) {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var (open, named) = (stat(), stat())
        guard fstat(descriptor, &open) == 0, stat(path, &named) == 0 else { return false }
        return open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }

    deinit {
        // A file with content was not created by this lock.
        var information = stat()
        if fstat(descriptor, &information) == 0, information.st_size == 0 { unlink(path) }
        close(descriptor)
    }
}
