internal import Foundation

/// Reads files that fit into memory: a document, a configuration.
enum InputLines {
    private static let chunkSize = 256 << 10
    /// Beyond any document: 128 MiB.
    private static let limit = 128 << 20

    /// All of a file or of stdin, without the byte order mark that some editors put before the text.
    ///
    /// - Parameter path: A file, or `-` for stdin.
    /// - Throws: ``CommandError`` with 66 if it can't be read, 65 if it is longer than any document.
    static func whole(_ path: String) throws(CommandError) -> [UInt8] {
        let handle = try open(path)
        var bytes: [UInt8] = []
        while let data = try read(handle, path), !data.isEmpty {
            bytes += data
            guard bytes.count <= limit else {
                throw CommandError(.invalidData, "\(path): it is larger than any document may be")
            }
        }
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private static func open(_ path: String) throws(CommandError) -> FileHandle {
        if path == "-" { return .standardInput }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw CommandError(.missingInput, "\(path) does not exist; correct the path")
        }
        guard !isFolder.boolValue else { throw CommandError(.missingInput, "\(path) is a folder; name a file in it") }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw CommandError(.missingInput, "can't read \(path); correct its permissions")
        }
        return handle
    }

    private static func read(_ handle: FileHandle, _ path: String) throws(CommandError) -> Data? {
        do { return try handle.read(upToCount: chunkSize) } catch {
            throw CommandError(.missingInput, "can't read \(path): \(error.localizedDescription)")
        }
    }
}
