/// Reads the ``Outline`` of a text, line by line.
///
/// A line that does not fit its place is read as if it did: the lines around it keep their places. Takes time in
/// proportion to the text.
struct OutlineReader {
    /// The deepest nesting of brackets and blocks. What is deeper is skipped.
    static let depthLimit = 200

    let bytes: [UInt8]
    /// The end of the text to read: the cursor, or the end of the bytes.
    let end: Int
    var index = 0
    /// Where the current line begins.
    private(set) var lineStart = 0
    var outline = Outline()
    /// The objects and lists that further lines may belong to, from the outside in.
    var open: [Int] = []
    /// What can be written at the end.
    var cursor = OutlineCursor.nothing

    init(_ bytes: [UInt8], end: Int? = nil, isJSON: Bool) {
        self.bytes = bytes
        self.end = end ?? bytes.count
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = min(3, self.end) }
        if self.end == index { cursor = .line(column: 0, index..<index) }
        if isJSON {
            readJSON()
        } else {
            while index < self.end { readLine() }
        }
    }

    private mutating func readJSON() {
        guard skipFlowSpace(base: -1), index < end else {
            cursor = .value(0, end..<end, isQuoted: false)
            return
        }
        readFlowValue(0, isElement: false, base: -1, depth: 0)
    }

    var byte: UInt8 { index < end ? bytes[index] : 0 }

    /// Whether the line ends at an index, or the text.
    func isLineEnd(_ index: Int) -> Bool { index >= end || bytes[index] == 0x0A || bytes[index] == 0x0D }

    func isSpace(_ index: Int) -> Bool { index < end && (bytes[index] == 0x20 || bytes[index] == 0x09) }

    mutating func skipSpaces() { while isSpace(index) { index += 1 } }

    /// Moves to the beginning of the next line.
    mutating func skipLine() {
        while index < end, bytes[index] != 0x0A { index += 1 }
        nextLine()
    }

    /// Moves behind the line break at the index.
    mutating func nextLine() {
        if index < end { index += 1 }
        lineStart = index
    }

    mutating func moveLineStart(to index: Int) { lineStart = index }

    var column: Int { index - lineStart }

    // MARK: - Lines

    private mutating func readLine() {
        lineStart = index
        skipSpaces()
        if index >= end {
            cursor = .line(column: column, end..<end)
        } else if isLineEnd(index) || byte == UInt8(ascii: "#") {
            skipLine()
            if index >= end { cursor = atLineStart }
        } else if column == 0, isMarker {
            skipLine()
        } else {
            readContent()
            if index >= end, cursor == .nothing { cursor = atLineStart }
        }
    }

    /// The cursor at the end of the text, if it is at the beginning of a line.
    private var atLineStart: OutlineCursor {
        lineStart == end && end > 0 && bytes[end - 1] == 0x0A ? .line(column: 0, end..<end) : .nothing
    }

    /// Whether the line is `---`, `...` or a directive.
    private var isMarker: Bool {
        byte == UInt8(ascii: "%") || bytes[index..<end].starts(with: "---".utf8)
            || bytes[index..<end].starts(with: "...".utf8)
    }

    /// Reads dashes, a key with its value, or a value.
    private mutating func readContent() {
        while byte == UInt8(ascii: "-"), isSpace(index + 1) || isLineEnd(index + 1) {
            guard beginElement() else { return skipLine() }
            index += 1
            let hasSpace = isSpace(index)
            skipSpaces()
            guard index < end else {
                if hasSpace, let list = open.last, let element = outline[list].children.last {
                    cursor = .value(element, end..<end, isQuoted: false)
                }
                return
            }
            if isLineEnd(index) || byte == UInt8(ascii: "#") { return skipLine() }
        }
        if let key = key() { readMember(key) } else { readScalarLine() }
    }

    /// The name at the index, if a colon follows it.
    private func key() -> Range<Int>? {
        var position = index
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
            guard let close = closingQuote(from: index) else { return nil }
            position = close + 1
            let key = index..<position
            while isSpace(position) { position += 1 }
            guard position < end, bytes[position] == UInt8(ascii: ":") else { return nil }
            return isSpace(position + 1) || isLineEnd(position + 1) ? key : nil
        }
        guard byte != UInt8(ascii: "{"), byte != UInt8(ascii: "[") else { return nil }
        while !isLineEnd(position) {
            if bytes[position] == UInt8(ascii: ":"), isSpace(position + 1) || isLineEnd(position + 1) {
                return position > index ? index..<position : nil
            }
            if bytes[position] == UInt8(ascii: "#"), isSpace(position - 1) { return nil }
            position += 1
        }
        return nil
    }

    /// The quote that closes the one at `start`, on the same line.
    func closingQuote(from start: Int) -> Int? {
        let quote = bytes[start]
        var position = start + 1
        while !isLineEnd(position) {
            if bytes[position] == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                position += 1
            } else if bytes[position] == quote {
                guard quote == UInt8(ascii: "'"), position + 1 < end, bytes[position + 1] == quote else {
                    return position
                }
                position += 1
            }
            position += 1
        }
        return nil
    }

    /// A name or a value without its quotes.
    func text(_ range: Range<Int>) -> String {
        OutlineText.unquoted(bytes[range])
    }
}

enum OutlineText {
    /// The text of a scalar. Escapes other than `''` and `\"` stay as they are.
    static func unquoted(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.count >= 2, let quote = bytes.first, quote == bytes.last else { return text }
        let inner = String(text.dropFirst().dropLast())
        switch quote {
        case UInt8(ascii: "'"): return inner.replacing("''", with: "'")
        case UInt8(ascii: "\""): return inner.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
        default: return text
        }
    }
}
