internal import Foundation

/// Files that the program leaves behind are whole or not there: written beside and renamed.
enum OutputFile {
    /// - Throws: ``CommandFailure`` with 73 if the file can't be made, 74 if it can't be written.
    static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        let temporary = "\(path).part-\(getpid())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(.cannotCreate, "create", path) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            guard count > 0 else {
                let failure = failure(.cannotWrite, "write", path)
                unlink(temporary)
                throw failure
            }
            written += count
        }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw failure(.cannotWrite, "write", path) }
    }

    private static func failure(_ code: ExitStatus, _ verb: String, _ path: String) -> CommandFailure {
        CommandFailure(code, "can't \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
