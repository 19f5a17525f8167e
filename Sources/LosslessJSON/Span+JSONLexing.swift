/// The lowest level of the JSON grammar: the contents of strings and numbers.
extension Span<UInt8> {
    /// The offset of the first byte at or after `start` that is not an ordinary character of a string: a quote, a
    /// backslash, a control character or a non-ASCII byte. `count` if there is none.
    ///
    /// Processes eight bytes per step. In `found`, the lowest set bit always marks such a byte. Higher bits may be
    /// wrong, because borrows propagate only upwards.
    @inline(__always)
    func indexOfStringStop(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var at = start
        let bytes = self.bytes
        while at + 8 <= count {
            // Within bounds by the condition above; any bytes make a UInt64.
            let word = UInt64(
                littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            let found =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word | word)
                & highs
            if found != 0 { return at + found.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < count {
            let byte = self[unchecked: at]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 { return at }
            at += 1
        }
        return at
    }

    /// Skips an escape sequence, from its backslash.
    func skipEscape(from backslash: Int) throws(JSONError) -> Int {
        guard backslash + 1 < count else { throw JSONError(.unexpectedEnd, at: count) }
        switch self[backslash + 1] {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74:  // " \ / b f n r t
            return backslash + 2
        case UInt8(ascii: "u"):
            for at in backslash + 2..<backslash + 6 {
                guard at < count else { throw JSONError(.unexpectedEnd, at: count) }
                guard self[at].hexDigitValue != nil else { throw JSONError(.invalidEscape, at: backslash) }
            }
            return backslash + 6
        default:
            throw JSONError(.invalidEscape, at: backslash)
        }
    }

    /// Skips one well-formed UTF-8 sequence of two to four bytes (Unicode 15, table 3-7).
    @inline(__always)
    func skipMultibyteScalar(from start: Int) throws(JSONError) -> Int {
        let length: Int
        var lowest: UInt8 = 0x80
        var highest: UInt8 = 0xBF
        switch self[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, lowest) = (3, 0xA0)
        case 0xED: (length, highest) = (3, 0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, lowest) = (4, 0x90)
        case 0xF4: (length, highest) = (4, 0x8F)
        case 0xF1...0xF3: length = 4
        default: throw JSONError(.invalidUTF8, at: start)
        }
        var at = start + 1
        while at < start + length {
            guard at < count else { throw JSONError(.unexpectedEnd, at: count) }
            guard self[unchecked: at] >= lowest, self[unchecked: at] <= highest else {
                throw JSONError(.invalidUTF8, at: start)
            }
            // Only the second byte may have a narrower range.
            (lowest, highest) = (0x80, 0xBF)
            at += 1
        }
        return at
    }

    /// Skips one digit or more.
    @inline(__always)
    func skipDigits(from start: Int) throws(JSONError) -> Int {
        var at = start
        while at < count, self[unchecked: at] &- 0x30 < 10 { at += 1 }
        if at == start {
            guard at < count else { throw JSONError(.unexpectedEnd, at: count) }
            throw JSONError(.unexpectedByte(self[at], expected: .digit), at: at)
        }
        return at
    }
}

extension UInt8 {
    /// 0 to 15 for `0-9`, `a-f`, `A-F`.
    var hexDigitValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
