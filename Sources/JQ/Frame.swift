/// The kind of a message between this process and a helper process.
///
/// A frame consists of its length (kind and content) in four bytes, little-endian, its kind in one byte, and its
/// content.
enum FrameKind: UInt8 {
    // To the process.
    /// The limits, as the first frame. Answered with `ready`.
    case limits = 1
    /// The name and value of a variable for all programs. Answered with `bound` or `unreadableInput`.
    case binding
    /// The local variables and the text of the next program.
    case program
    /// Compile a range of programs. Answered with `done` or `compileError`.
    case check
    /// Run one program. Answered with any number of `output`, then `done` or an error.
    case call

    // From the process.
    /// The limits are in force; or a program, at its first use, has been compiled.
    case ready
    /// The value has been read.
    case bound
    case output
    case done
    case compileError
    case programError
    case unreadableInput
    case tooMuchOutput
}

/// Writes frames one after the other.
struct FrameWriter {
    private(set) var bytes: [UInt8] = []
    private var start = 0

    mutating func begin(_ kind: FrameKind) {
        start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0, kind.rawValue])
    }

    mutating func append(_ value: Int) {
        withUnsafeBytes(of: UInt64(bitPattern: Int64(value)).littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ content: some Sequence<UInt8>) { bytes.append(contentsOf: content) }

    /// A string that is not the last part of its frame: with its length.
    mutating func append(counted content: [UInt8]) {
        append(content.count)
        append(content)
    }

    mutating func end() {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: bytes.count - start - 4).littleEndian) { length in
            for (index, byte) in length.enumerated() { bytes[start + index] = byte }
        }
    }

    mutating func write(_ kind: FrameKind, _ content: some Sequence<UInt8>) {
        begin(kind)
        append(content)
        end()
    }

    mutating func removeAll(keepingCapacity: Bool) { bytes.removeAll(keepingCapacity: keepingCapacity) }
}

/// A received frame.
struct Frame {
    let kind: FrameKind
    private(set) var content: ArraySlice<UInt8>

    /// Removes an integer from the front. Nil: the frame is too short.
    mutating func takeInteger() -> Int? {
        guard content.count >= 8 else { return nil }
        let value = content.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        content = content.dropFirst(8)
        return Int(Int64(bitPattern: value))
    }

    /// Removes a string from the front, as ``FrameWriter/append(counted:)`` wrote it. Nil: the frame is too short.
    mutating func takeCounted() -> ArraySlice<UInt8>? {
        guard let count = takeInteger(), count >= 0, count <= content.count else { return nil }
        defer { content = content.dropFirst(count) }
        return content.prefix(count)
    }
}

/// Splits received bytes into frames.
struct FrameReader {
    struct Malformed: Error {}

    /// Longer frames are refused before memory is allocated for them.
    let longestFrame: Int
    private var buffer: [UInt8] = []
    private var position = 0

    init(longestFrame: Int) { self.longestFrame = longestFrame }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if position > 0, position == buffer.count || position > 1 << 20 {
            buffer.removeSubrange(..<position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next complete frame; nil if more bytes are needed.
    mutating func next() throws(Malformed) -> Frame? {
        guard buffer.count - position >= 5 else { return nil }
        let length = Int((0..<4).reduce(UInt32(0)) { $0 | UInt32(buffer[position + $1]) << UInt32(8 * $1) })
        guard length >= 1, length <= longestFrame, let kind = FrameKind(rawValue: buffer[position + 4]) else {
            throw Malformed()
        }
        let end = position + 4 + length
        guard buffer.count >= end else { return nil }
        defer { position = end }
        return Frame(kind: kind, content: buffer[position + 5..<end])
    }
}
