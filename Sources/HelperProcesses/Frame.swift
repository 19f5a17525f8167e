/// Writes consecutive frames.
///
/// A frame is a message between this process and a helper process. It consists of its length (kind and content) in four
/// bytes, little-endian, its kind in one byte, and its content.
package struct FrameWriter {
    package private(set) var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func begin(_ kind: UInt8) {
        start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0, kind])
    }

    package mutating func append(_ value: Int) {
        withUnsafeBytes(of: UInt64(bitPattern: Int64(value)).littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func append(_ content: [UInt8]) { bytes += content }
    package mutating func append(_ content: ArraySlice<UInt8>) { bytes += content }
    package mutating func append(_ content: UnsafeRawBufferPointer) { bytes += content }

    /// Appends a string with its length, for strings that are not the last part of their frame.
    package mutating func append(counted content: [UInt8]) {
        append(content.count)
        append(content)
    }

    package mutating func end() {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: bytes.count - start - 4).littleEndian) { length in
            for (index, byte) in length.enumerated() { bytes[start + index] = byte }
        }
    }

    package mutating func removeAll(keepingCapacity: Bool) { bytes.removeAll(keepingCapacity: keepingCapacity) }
}

/// A received frame.
package struct Frame {
    package let kind: UInt8
    package private(set) var content: ArraySlice<UInt8>

    /// Removes an integer from the front. Nil: the frame is too short.
    package mutating func takeInteger() -> Int? {
        guard content.count >= 8 else { return nil }
        let value = content.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        content = content.dropFirst(8)
        return Int(Int64(bitPattern: value))
    }

    /// Removes a string from the front, as ``FrameWriter/append(counted:)`` wrote it. Nil: the frame is too short.
    package mutating func takeCounted() -> ArraySlice<UInt8>? {
        guard let count = takeInteger(), count >= 0, count <= content.count else { return nil }
        defer { content = content.dropFirst(count) }
        return content.prefix(count)
    }
}

/// Splits received bytes into frames.
package struct FrameReader {
    /// Longer frames are refused before memory is allocated for them.
    let maxFrameSize: Int
    private var buffer: [UInt8] = []
    private var position = 0

    package init(maxFrameSize: Int) { self.maxFrameSize = maxFrameSize }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if position > 0, position == buffer.count || position > 1 << 20 {
            buffer.removeSubrange(..<position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next complete frame; nil if more bytes are needed.
    package mutating func next() throws(MalformedFrame) -> Frame? {
        guard buffer.count - position >= 5 else { return nil }
        let length = Int((0..<4).reduce(UInt32(0)) { $0 | UInt32(buffer[position + $1]) << UInt32(8 * $1) })
        guard length >= 1, length <= maxFrameSize else { throw MalformedFrame() }
        let end = position + 4 + length
        guard buffer.count >= end else { return nil }
        defer { position = end }
        return Frame(kind: buffer[position + 4], content: buffer[position + 5..<end])
    }
}

/// The other process sent data that is not a frame.
package struct MalformedFrame: Error {}
