internal import Glibc

/// Finds out whether a file can be created in a folder, without leaving one.
package enum FolderProbe {
    /// The system's reason; nil if a file can be created.
    package static func writeFailure(_ folder: String) -> String? {
        // A file without a name, which is deleted when it is closed: O_TMPFILE of open(2), whose macro Swift can't
        // import.
        let descriptor = open(folder, 0o20_000_000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return nil
        }
        guard [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(errno) else { return String(cString: strerror(errno)) }
        // This file system has no such files.
        let name = "\(folder)/.changebot-doctor.\(getpid())"
        guard mkdir(name, 0o700) == 0 else { return String(cString: strerror(errno)) }
        rmdir(name)
        return nil
    }
}
