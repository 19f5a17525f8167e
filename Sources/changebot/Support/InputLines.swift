internal import Foundation

/// The lines of a file or of stdin, read as they are asked for. Empty lines are skipped.
struct InputLines {
    struct Line {
        /// Counts from 1, empty lines included.
        let number: Int
        /// Without the line feed.
        let bytes: [UInt8]
    }

    private static let chunkSize = 256 << 10
    /// Beyond any document: 128 MiB.
    private static let lineLimit = 128 << 20

    private let name: String
    private let handle: FileHandle
    private var buffer: [UInt8] = []
    private var start = 0
    /// Up to here ``buffer`` holds no line feed.
    private var searched = 0
    private var number = 0
    private var isAtEnd = false

    /// - Parameter path: A file, or `-` for stdin.
    /// - Throws: ``CommandFailure`` with 66.
    init(_ path: String) throws(CommandFailure) {
        name = path
        if path == "-" {
            handle = .standardInput
            return
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
            let handle = FileHandle(forReadingAtPath: path)
        else { throw CommandFailure(.missingInput, "can't read \(path); correct the path or its permissions") }
        self.handle = handle
    }

    /// Nil at the end.
    ///
    /// - Throws: ``CommandFailure`` with 66 if reading fails, 65 for a line beyond 128 MiB.
    mutating func next() throws(CommandFailure) -> Line? {
        while let bytes = try nextBytes() {
            number += 1
            let bytes = number == 1 ? Self.withoutMark(bytes) : bytes
            if !bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
                return Line(number: number, bytes: bytes)
            }
        }
        return nil
    }

    private mutating func nextBytes() throws(CommandFailure) -> [UInt8]? {
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer {
                    start = end + 1
                    searched = start
                }
                return Array(buffer[start..<end])
            }
            if isAtEnd {
                guard start < buffer.count else { return nil }
                defer {
                    start = buffer.count
                    searched = start
                }
                return Array(buffer[start...])
            }
            try readOn()
        }
    }

    private mutating func readOn() throws(CommandFailure) {
        buffer.removeSubrange(..<start)
        start = 0
        searched = buffer.count
        guard buffer.count <= Self.lineLimit else {
            throw CommandFailure(.invalidData, "\(name):\(number + 1):1: the line is longer than any document; cut it")
        }
        do {
            if let data = try handle.read(upToCount: Self.chunkSize), !data.isEmpty {
                buffer += data
            } else {
                isAtEnd = true
            }
        } catch {
            throw CommandFailure(.missingInput, "can't read \(name): \(error.localizedDescription)")
        }
    }

    /// All of a file or of stdin.
    static func whole(_ path: String) throws(CommandFailure) -> [UInt8] {
        var lines = try InputLines(path)
        while !lines.isAtEnd { try lines.readOn() }
        return withoutMark(lines.buffer)
    }

    /// Without the byte order mark that some editors put before the text.
    private static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }
}
