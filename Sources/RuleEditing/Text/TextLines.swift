package import Rules

/// The lines of a text, to convert between offsets in its bytes and positions.
package struct TextLines: Sendable {
    /// UTF-8.
    package let bytes: [UInt8]
    private let unit: ColumnUnit
    /// The offset of each line of an editor: lines end with `\n`, `\r\n` or `\r`.
    private let starts: [Int]
    /// The offset of each line as the reader of rule files counts it.
    private let sourceStarts: [Int]

    /// - Parameter isJSON: Whether the reader of rule files reads it as JSON: lines then end with `\n` only. In YAML,
    ///   they also end with U+0085, U+2028 and U+2029.
    package init(_ bytes: [UInt8], unit: ColumnUnit, isJSON: Bool = false) {
        self.bytes = bytes
        self.unit = unit
        var (starts, sourceStarts) = ([0], [0])
        var isSame = true
        let span = bytes.span
        for index in span.indices {
            let end = index + 1
            switch span[index] {
            case 0x0A:
                starts.append(end)
                sourceStarts.append(end)
            case 0x0D where end == span.count || span[end] != 0x0A:
                starts.append(end)
                if isJSON { isSame = false } else { sourceStarts.append(end) }
            case 0x85 where !isJSON && index >= 1 && span[index - 1] == 0xC2,
                0xA8 where !isJSON && index >= 2 && span[index - 1] == 0x80 && span[index - 2] == 0xE2,
                0xA9 where !isJSON && index >= 2 && span[index - 1] == 0x80 && span[index - 2] == 0xE2:
                sourceStarts.append(end)
                isSame = false
            default: break
            }
        }
        self.starts = starts
        self.sourceStarts = isSame ? starts : sourceStarts
    }

    package var count: Int { starts.count }

    /// The bytes of a line without its line break. Empty if there is no such line.
    package func range(ofLine line: Int) -> Range<Int> {
        guard starts.indices.contains(line) else { return bytes.count..<bytes.count }
        var end = line + 1 < starts.count ? starts[line + 1] : bytes.count
        if line + 1 < starts.count {
            end -= 1
            if end > starts[line], bytes[end] == 0x0A, bytes[end - 1] == 0x0D { end -= 1 }
        }
        return starts[line]..<end
    }

    /// The line that contains an offset.
    package func line(at offset: Int) -> Int {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        return low
    }

    // MARK: - Positions

    /// The position at an offset, which is cut to the text.
    package func position(at offset: Int) -> TextPosition {
        let offset = min(max(offset, 0), bytes.count)
        let line = line(at: offset)
        return TextPosition(line: line, column: columns(bytes[starts[line]..<offset]))
    }

    package func range(_ range: Range<Int>) -> TextRange {
        TextRange(start: position(at: range.lowerBound), end: position(at: range.upperBound))
    }

    /// The offset at a position. A column after the end of its line is the end, as the protocol for language servers
    /// says; a column within a character is its beginning.
    package func offset(of position: TextPosition) -> Int {
        guard position.line < starts.count else { return bytes.count }
        guard position.line >= 0 else { return 0 }
        let line = range(ofLine: position.line)
        var (offset, column) = (line.lowerBound, 0)
        while offset < line.upperBound {
            let length = Self.length(ofCharacter: bytes[offset])
            let width = unit == .utf8 ? length : length == 4 ? 2 : 1
            guard column + width <= position.column else { break }
            column += width
            offset += length
        }
        return min(offset, line.upperBound)
    }

    package func range(of range: TextRange) -> Range<Int> {
        let start = offset(of: range.start)
        return start..<max(start, offset(of: range.end))
    }

    /// The offset at a position of an error or a warning. Cut to the line, and to the text.
    package func offset(of position: SourcePosition) -> Int {
        guard sourceStarts.indices.contains(position.line - 1) else {
            return position.line < 1 ? 0 : bytes.count
        }
        let end = position.line < sourceStarts.count ? sourceStarts[position.line] : bytes.count
        var offset = sourceStarts[position.line - 1]
        var left = position.column - 1
        // The reader does not count a byte order mark.
        if offset == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
        while left > 0, offset < end, bytes[offset] != 0x0A, bytes[offset] != 0x0D {
            offset += Self.length(ofCharacter: bytes[offset])
            left -= 1
        }
        return min(offset, end)
    }

    /// The position in the reader's terms at an offset.
    package func sourcePosition(at offset: Int) -> SourcePosition {
        let index = (sourceStarts.firstIndex { $0 > offset } ?? sourceStarts.count) - 1
        var start = sourceStarts[index]
        if start == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        let column = start < offset ? bytes[start..<offset].count { $0 & 0xC0 != 0x80 } : 0
        return SourcePosition(line: index + 1, column: column + 1)
    }

    private func columns(_ bytes: ArraySlice<UInt8>) -> Int {
        switch unit {
        case .utf8: bytes.count
        case .utf16: bytes.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : $1 >= 0xF0 ? 2 : 1) }
        }
    }

    private static func length(ofCharacter byte: UInt8) -> Int {
        byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
    }
}

extension TextLines {
    package func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
