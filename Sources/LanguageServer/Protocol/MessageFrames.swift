/// Splits a stream of bytes into messages: `Content-Length: N`, an empty line, N bytes.
///
/// - Note: Source: Language Server Protocol 3.17, "Base Protocol".
package struct MessageFrames: Sendable {
    package enum Frame: Equatable, Sendable {
        case message([UInt8])
        /// A header without a length. The stream continues after its empty line.
        case badHeader
        /// The next message can't be found: the header or the length is too large.
        case unreadable
    }

    /// The maximum number of bytes of a header.
    static let headerLimit = 8 << 10
    /// The maximum number of bytes of a message.
    static let messageLimit = 64 << 20

    private var bytes: [UInt8] = []
    /// The bytes before this index have been taken.
    private var start = 0
    /// How far the end of the header has been searched.
    private var searched = 0
    /// The length of the message whose header has been taken.
    private var length: Int?

    package init() {}

    package mutating func add(_ chunk: [UInt8]) {
        if start > 0 {
            bytes.removeFirst(start)
            (searched, start) = (searched - start, 0)
        }
        bytes += chunk
    }

    /// The next frame. Nil if more bytes are needed.
    package mutating func next() -> Frame? {
        if length == nil {
            guard let end = endOfHeader() else { return bytes.count - start > Self.headerLimit ? .unreadable : nil }
            let header = bytes[start..<end.lowerBound]
            (start, searched) = (end.upperBound, end.upperBound)
            guard let length = Self.length(header) else { return .badHeader }
            guard length <= Self.messageLimit else { return .unreadable }
            self.length = length
        }
        guard let length, bytes.count - start >= length else { return nil }
        let message = Array(bytes[start..<start + length])
        start += length
        searched = start
        self.length = nil
        return .message(message)
    }

    /// The bytes that end the header: `\r\n\r\n`, or `\n\n` from a careless client.
    private mutating func endOfHeader() -> Range<Int>? {
        let limit = min(bytes.count, start + Self.headerLimit + 4)
        var index = max(start, searched)
        while index < limit {
            if bytes[index] == 0x0A {
                if index > start, bytes[index - 1] == 0x0A { return index - 1..<index + 1 }
                if index >= start + 3, bytes[(index - 3)...index].elementsEqual("\r\n\r\n".utf8) {
                    return index - 3..<index + 1
                }
            }
            index += 1
        }
        searched = limit
        return nil
    }

    private static func length(_ header: ArraySlice<UInt8>) -> Int? {
        for line in header.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == "content-length" else {
                continue
            }
            let digits = text[text.index(after: colon)...].trimmingSpaces
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Int(digits) ?? .max
        }
        return nil
    }

    /// A message with its header.
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        Array("Content-Length: \(message.count)\r\n\r\n".utf8) + message
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
