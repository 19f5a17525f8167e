internal import Glibc
internal import Revisions
internal import Transfer

/// Writes files atomically, by renaming a temporary file. Links stay, and their targets are replaced. Pipes and devices
/// are written to directly.
enum OutputFile {
    /// Checks, before the work begins, that ``write(_:to:)`` can succeed.
    ///
    /// - Throws: ``CommandError`` with 73 if it can't.
    static func check(_ path: String) throws(CommandError) {
        switch OutputPath(path) {
        case .folder: throw CommandError(.cannotCreate, "can't create \(path): it is a folder")
        case .unusable(_, let reason): throw CommandError(.cannotCreate, "can't create \(path): \(reason)")
        case .special:
            guard access(path, W_OK) == 0 else { throw failure(.cannotCreate, "open", path) }
        case .file(let file):
            let (descriptor, temporary) = try create(beside: file)
            close(descriptor)
            unlink(temporary)
        }
    }

    /// Like ``check(_:)``, for files that are written incrementally and read again.
    ///
    /// - Returns: The path with links resolved.
    /// - Throws: ``CommandError`` with 73, also for pipes and devices.
    static func checkRegular(_ path: String, _ name: String) throws(CommandError) -> String {
        if case .special = OutputPath(path) {
            throw CommandError(
                .cannotCreate, "\(name): \(path) is a pipe or a device, which can't be read again; name a file")
        }
        try check(path)
        return OutputPath.resolved(path)
    }

    /// - Throws: ``CommandError`` with 73 if the file can't be created, 74 if it can't be written.
    static func write(_ bytes: [UInt8], to path: String) throws(CommandError) {
        switch OutputPath(path) {
        case .file(let file): try replace(file, with: bytes)
        case .special, .folder, .unusable: try append(bytes, to: path)
        }
    }

    /// Like ``write(_:to:)``, but never replaces a file that this user may not write.
    ///
    /// - Throws: ``CommandError`` with 73 if it is write-protected.
    static func writeUnlessProtected(_ bytes: [UInt8], to path: String) throws(CommandError) {
        guard access(path, F_OK) != 0 || access(path, W_OK) == 0 else {
            throw CommandError(.cannotCreate, "\(path) is write-protected; run chmod u+w \(path)")
        }
        try write(bytes, to: path)
    }

    /// Writes the file of `--summary` at the end of a job, even if the job failed.
    ///
    /// - Parameter failure: Why the job failed; nil if it did not.
    /// - Returns: The error of the command: `failure`, otherwise why the summary can't be written. If there are both,
    ///   this function reports the second one.
    static func writeSummary(_ bytes: [UInt8], to path: String, after failure: CommandError?) -> CommandError? {
        do throws(CommandError) { try write(bytes, to: path) } catch {
            guard let failure else { return error }
            error.report()
            return failure
        }
        return failure
    }

    private static func append(_ bytes: [UInt8], to path: String) throws(CommandError) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(.cannotCreate, "open", path) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor, path)
    }

    private static func replace(_ path: String, with bytes: [UInt8]) throws(CommandError) {
        let (descriptor, temporary) = try create(beside: path)
        defer { close(descriptor) }
        do throws(CommandError) {
            keepMode(of: path, descriptor)
            try write(bytes, to: descriptor, path)
            guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
                throw failure(.cannotWrite, "write", path)
            }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Gives a new file the permissions of the file that it replaces.
    private static func keepMode(of path: String, _ descriptor: Int32) {
        var information = stat()
        if stat(path, &information) == 0 { fchmod(descriptor, information.st_mode & 0o777) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(CommandError) {
        guard FileDescriptor(number: descriptor).write(bytes) else { throw failure(.cannotWrite, "write", path) }
    }

    /// Creates a temporary file with a name of its own, so that several tasks can write the same file.
    private static func create(
        beside path: String
    ) throws(CommandError) -> (descriptor: Int32, temporary: String) {
        while true {
            let temporary = "\(path).part-" + String(UInt32.random(in: 0...UInt32.max), radix: 36)
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            if descriptor >= 0 { return (descriptor, temporary) }
            guard errno == EEXIST else { throw failure(.cannotCreate, "create", path) }
        }
    }

    private static func failure(_ code: ExitStatus, _ verb: String, _ path: String) -> CommandError {
        CommandError(code, "can't \(verb) \(path): \(FileOperations.obstacle(errno, to: path))")
    }
}
