internal import Foundation

/// Reads small files as a whole: a document, a configuration.
enum InputLines {
    private static let chunkSize = 256 << 10
    /// The longest file, in bytes: 128 MiB, more than any document.
    private static let limit = 128 << 20

    /// The content of a file or of stdin. A byte order mark at the start is left out.
    ///
    /// - Parameter path: A file, or `-` for stdin.
    /// - Throws: ``CommandError`` with 66 if it can't be read, 65 if it is longer than 128 MiB.
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
