// The places of lines, by their indentation.

extension OutlineReader {
    /// Leaves the objects and lists that are indented further than a column.
    mutating func close(beyond column: Int) {
        while let last = open.last, outline[last].indentation > column { open.removeLast() }
    }

    /// The value that a deeper line would belong to: of the file, or of the last member or element.
    private var slot: Int? { open.last.map { outline[$0].children.last } ?? 0 }

    private mutating func begin(_ content: Outline.Node.Content, in slot: Int, at column: Int) {
        outline[slot].content = content
        outline[slot].indentation = column
        outline[slot].range = index..<index
        open.append(slot)
    }

    /// Adds an element for the dash at the index. False if no list can be here.
    mutating func beginElement() -> Bool {
        let column = column
        close(beyond: column)
        if let top = open.last, outline[top].content == .list, outline[top].indentation == column {
            addElement(to: top)
            return true
        }
        guard open.count < Self.depthLimit, let slot, !outline[slot].isFlow else { return false }
        switch outline[slot].content {
        case .missing where outline[slot].hasColon: begin(.list, in: slot, at: column)
        case .list:
            outline[slot].indentation = column
            open.append(slot)
        default: return false
        }
        addElement(to: slot)
        return true
    }

    private mutating func addElement(to list: Int) {
        _ = outline.add(Outline.Node(range: index..<index, origin: index, parent: list), to: list)
    }

    /// The object that a name at this column belongs to. Nil if there can be none.
    mutating func object(at column: Int) -> Int? {
        close(beyond: column)
        while let top = open.last, outline[top].content == .list, outline[top].indentation == column {
            open.removeLast()
        }
        if let top = open.last, outline[top].content == .object, outline[top].indentation == column { return top }
        guard let slot, !outline[slot].isFlow else {
            return open.last.flatMap { outline[$0].content == .object ? $0 : nil }
        }
        switch outline[slot].content {
        case .missing where outline[slot].hasColon && open.count < Self.depthLimit:
            begin(.object, in: slot, at: column)
            return slot
        case .object:
            outline[slot].indentation = column
            open.append(slot)
            return slot
        case .scalar where outline[slot].wordColumn == column:
            return objectOfWord(slot, column)
        default: return open.last.flatMap { outline[$0].content == .object ? $0 : nil }
        }
    }

    /// Reads an element such as `na` as the beginning of a name, because other names follow.
    private mutating func objectOfWord(_ slot: Int, _ column: Int) -> Int {
        let word = outline[slot].range
        begin(.object, in: slot, at: column)
        outline[slot].range = word
        addMember(word, to: slot, hasColon: false)
        return slot
    }

    @discardableResult
    mutating func addMember(_ key: Range<Int>, to object: Int, hasColon: Bool) -> Int {
        let node = Outline.Node(
            range: key.upperBound..<key.upperBound, origin: key.lowerBound, key: key, name: text(key),
            hasColon: hasColon, parent: object)
        return outline.add(node, to: object)
    }

    mutating func readMember(_ key: Range<Int>) {
        let column = column
        guard let object = object(at: column) else { return skipLine() }
        let member = addMember(key, to: object, hasColon: true)
        index = key.upperBound
        while bytes[index] != UInt8(ascii: ":") { index += 1 }
        index += 1
        outline[member].range = index..<index
        closeRange(member)
        let hasSpace = isSpace(index)
        skipSpaces()
        if index >= end {
            cursor = hasSpace ? .value(member, end..<end, isQuoted: false) : .nothing
            return
        }
        readInline(member, base: column)
    }

    /// Reads a value that begins on this line.
    ///
    /// - Parameter base: The column of the name or the dash before it.
    mutating func readInline(_ node: Int, base: Int) {
        while byte == UInt8(ascii: "&") || byte == UInt8(ascii: "!") {
            while !isSpace(index), !isLineEnd(index) { index += 1 }
            skipSpaces()
        }
        switch byte {
        case _ where isLineEnd(index) || byte == UInt8(ascii: "#"): skipLine()
        case UInt8(ascii: "|"), UInt8(ascii: ">"): readBlockText(node, base: base)
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: "'"):
            readFlowValue(node, isElement: false, base: base, depth: 0)
            closeRange(node)
            // Otherwise the next line belongs to another value.
            if index > lineStart, index < end { skipLine() }
        default:
            readPlain(node)
            if index < end { skipLine() }
        }
    }

    private mutating func readPlain(_ node: Int) {
        let start = index
        while !isLineEnd(index), !(bytes[index] == UInt8(ascii: "#") && isSpace(index - 1)) { index += 1 }
        if index >= end { cursor = .value(node, start..<end, isQuoted: false) }
        var last = index
        while last > start, isSpace(last - 1) { last -= 1 }
        outline[node].content = .scalar
        outline[node].range = start..<last
        closeRange(node)
    }

    /// The text after `|` or `>`: all lines that are indented further than its name, and empty lines.
    private mutating func readBlockText(_ node: Int, base: Int) {
        outline[node].content = .scalar
        outline[node].isBlockText = true
        let start = index
        skipLine()
        var last = index
        while index < end {
            skipSpaces()
            if index >= end, column <= base {
                cursor = .line(column: column, end..<end)
                break
            }
            guard isLineEnd(index) || column > base else { break }
            let isEmpty = isLineEnd(index)
            skipLine()
            if !isEmpty { last = index }
        }
        if index < end || cursor != .nothing { index = lineStart }
        if case .line = cursor { index = end }
        outline[node].range = start..<max(start, min(last, end))
        closeRange(node)
    }

    /// Extends the values around a value to its end.
    func closedRange(_ range: Range<Int>, to end: Int) -> Range<Int> {
        range.lowerBound..<max(range.upperBound, end)
    }

    mutating func closeRange(_ node: Int) {
        let end = outline[node].range.upperBound
        var current = outline[node].parent
        while let index = current {
            guard outline[index].range.upperBound < end else { break }
            outline[index].range = closedRange(outline[index].range, to: end)
            current = outline[index].parent
        }
    }

    /// A line that is neither a dash nor a name with a colon: the beginning of a name, a value, or more of a text.
    mutating func readScalarLine() {
        let (start, column) = (index, column)
        close(beyond: column)
        let top = open.last
        if let top, outline[top].content == .object, outline[top].indentation == column {
            while !isLineEnd(index), !(bytes[index] == UInt8(ascii: "#") && isSpace(index - 1)) { index += 1 }
            if index >= end { cursor = .line(column: column, start..<end) }
            var last = index
            while last > start, isSpace(last - 1) { last -= 1 }
            closeRange(addMember(start..<last, to: top, hasColon: false))
            if index < end { skipLine() }
            return
        }
        guard let slot, outline[slot].hasColon else { return skipLine() }
        switch outline[slot].content {
        case .missing:
            let isElement = outline[slot].key == nil && slot > 0
            outline[slot].wordColumn = column
            readInline(slot, base: top.map { outline[$0].indentation } ?? -1)
            if case .value(slot, let range, false) = cursor, !isElement { cursor = .line(column: column, range) }
        case .scalar where !outline[slot].isBlockText:
            skipLine()
            outline[slot].range = closedRange(outline[slot].range, to: max(start, index - 1))
        default: skipLine()
        }
    }
}
