internal import Foundation

/// Files that the program leaves behind are whole or not there: written beside and renamed. What is no regular file (a
/// pipe, a device, a link) is written to as it is.
enum OutputFile {
    /// Finds out before the work begins whether ``write(_:to:)`` can succeed.
    ///
    /// - Throws: ``CommandFailure`` with 73.
    static func check(_ path: String) throws(CommandFailure) {
        var information = stat()
        if lstat(path, &information) == 0 {
            guard information.st_mode & S_IFMT != S_IFDIR else {
                throw CommandFailure(.cannotCreate, "can't create \(path): it is a folder")
            }
            guard isRegular(information) else { return }
        }
        let descriptor = try create(beside: path)
        close(descriptor)
        unlink(temporary(path))
    }

    /// - Throws: ``CommandFailure`` with 73 if the file can't be made, 74 if it can't be written.
    static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        var information = stat()
        if lstat(path, &information) == 0, !isRegular(information) {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw failure(.cannotCreate, "open", path) }
            defer { close(descriptor) }
            return try write(bytes, to: descriptor, path)
        }
        let descriptor = try create(beside: path)
        defer { close(descriptor) }
        do throws(CommandFailure) {
            try write(bytes, to: descriptor, path)
            guard fsync(descriptor) == 0, rename(temporary(path), path) == 0 else {
                throw failure(.cannotWrite, "write", path)
            }
        } catch {
            unlink(temporary(path))
            throw error
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(CommandFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(.cannotWrite, "write", path) }
            rest = rest.dropFirst(count)
        }
    }

    private static func create(beside path: String) throws(CommandFailure) -> Int32 {
        let descriptor = open(temporary(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw failure(.cannotCreate, "create", path) }
        return descriptor
    }

    private static func temporary(_ path: String) -> String { "\(path).part-\(getpid())" }

    private static func isRegular(_ information: stat) -> Bool { information.st_mode & S_IFMT == S_IFREG }

    private static func failure(_ code: ExitStatus, _ verb: String, _ path: String) -> CommandFailure {
        CommandFailure(code, "can't \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
