/// A place in a text.
package struct TextPlace: Equatable, Sendable {
    /// Counts from 1, by line feeds.
    package private(set) var line = 1
    /// Counts from 1, in Unicode scalars.
    package private(set) var column = 1
    /// Counts from 0.
    package private(set) var byteOffset = 0

    /// The beginning of a text.
    package init() {}

    /// Moves to the end of `text`, which must begin here.
    ///
    /// Eight bytes per step if they have no line feed, because this runs over every document.
    mutating func advance(over text: Span<UInt8>) {
        let bytes = text.bytes
        var at = 0
        while at + 8 <= text.count {
            // Within bounds by the condition above. Any eight bytes are a valid UInt64.
            let word = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self)
            if word.hasLineFeed {
                for index in at..<at + 8 { advance(over: text[unchecked: index]) }
            } else {
                column &+= word.scalarStarts
            }
            at += 8
        }
        while at < text.count {
            advance(over: text[unchecked: at])
            at += 1
        }
        byteOffset += text.count
    }

    func advanced(over text: [UInt8]) -> TextPlace {
        var place = self
        place.advance(over: text.span)
        return place
    }

    @inline(__always)
    private mutating func advance(over byte: UInt8) {
        if byte == UInt8(ascii: "\n") {
            line &+= 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            column &+= 1
        }
    }

    /// Moves past a byte order mark, which does not count as a column.
    mutating func skipByteOrderMark() { byteOffset += 3 }
}

extension TextPlace: CustomStringConvertible {
    /// `LINE:COLUMN`.
    package var description: String { "\(line):\(column)" }
}

extension UInt64 {
    private static var highs: UInt64 { 0x8080_8080_8080_8080 }

    /// Whether one of the eight bytes is a line feed.
    @inline(__always)
    fileprivate var hasLineFeed: Bool {
        let difference = self ^ 0x0A0A_0A0A_0A0A_0A0A
        return (difference &- 0x0101_0101_0101_0101) & ~difference & Self.highs != 0
    }

    /// How many of the eight bytes begin a UTF-8 scalar: all but `10xxxxxx`.
    @inline(__always)
    fileprivate var scalarStarts: Int {
        self & Self.highs == 0 ? 8 : 8 &- (self & ~(self &<< 1) & Self.highs).nonzeroBitCount
    }
}
