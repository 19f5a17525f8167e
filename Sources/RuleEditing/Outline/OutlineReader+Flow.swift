// Values in brackets and quotes, which may continue on other lines.

extension OutlineReader {
    /// Moves to the next token. False if the brackets are certainly not closed: the next line is not indented further
    /// than `base`, so it belongs to another value.
    mutating func skipFlowSpace(base: Int) -> Bool {
        while index < end {
            switch bytes[index] {
            case 0x20, 0x09, 0x0D: index += 1
            case UInt8(ascii: "#") where index == lineStart || isSpace(index - 1):
                while !isLineEnd(index) { index += 1 }
            case 0x0A:
                nextLine()
                var next = index
                while isSpace(next) { next += 1 }
                if next < end, !isLineEnd(next), next - index <= base, !isBracketOrComma(bytes[next]) { return false }
            default: return true
            }
        }
        return true
    }

    private func isBracketOrComma(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ",")
    }

    /// Reads an object, a list or a scalar at the index. False if the rest of the brackets around it must be given up.
    ///
    /// - Parameters:
    ///   - isElement: Whether the value is an element of a list in brackets.
    ///   - base: The column that lines within brackets must exceed.
    @discardableResult
    mutating func readFlowValue(_ node: Int, isElement: Bool, base: Int, depth: Int) -> Bool {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.depthLimit else {
                index = end
                return false
            }
            return readFlowContainer(node, base: base, depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return readQuoted(node, isElement: isElement, base: base)
        default:
            readFlowScalar(node, isElement: isElement)
            return true
        }
    }

    private mutating func readFlowContainer(_ node: Int, base: Int, depth: Int) -> Bool {
        let start = index
        let isObject = byte == UInt8(ascii: "{")
        outline[node].content = isObject ? .object : .list
        outline[node].isFlow = true
        outline[node].range = start..<start + 1
        index += 1
        var mayBegin = true
        while true {
            guard skipFlowSpace(base: base) else { return false }
            guard index < end else {
                if mayBegin {
                    cursor =
                        isObject
                        ? .key(object: node, end..<end) : .element(list: node, end..<end, isQuoted: false)
                }
                outline[node].range = start..<end
                return false
            }
            switch byte {
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // A bracket of the other kind closes the brackets around these.
                if (byte == UInt8(ascii: "}")) == isObject || depth == 0 { index += 1 }
                outline[node].range = start..<index
                return true
            case UInt8(ascii: ","):
                index += 1
                mayBegin = true
            default:
                mayBegin = false
                let before = index
                let goesOn = isObject ? readFlowMember(node, base, depth) : readFlowElement(node, base, depth)
                outline[node].range = start..<max(index, start + 1)
                guard goesOn else { return false }
                // A character that fits nowhere.
                if index == before { index += 1 }
            }
        }
    }

    private mutating func readFlowMember(_ object: Int, _ base: Int, _ depth: Int) -> Bool {
        guard let key = flowKey() else {
            let start = index + 1
            while !isLineEnd(index) { index += 1 }
            if index >= end { cursor = .key(object: object, min(start, end)..<end) }
            return index < end
        }
        index = key.upperBound
        if index >= end, !isQuote(bytes[key.lowerBound]) { cursor = .key(object: object, key) }
        let member = addMember(key, to: object, hasColon: false)
        return readFlowMemberValue(member, base, depth)
    }

    /// Reads the colon and the value after a name.
    private mutating func readFlowMemberValue(_ member: Int, _ base: Int, _ depth: Int) -> Bool {
        skipSpaces()
        guard byte == UInt8(ascii: ":") else { return index < end }
        outline[member].hasColon = true
        index += 1
        outline[member].range = index..<index
        guard skipFlowSpace(base: base) else { return false }
        guard index < end else {
            cursor = .value(member, end..<end, isQuoted: false)
            return false
        }
        if isBracketOrComma(byte) { return true }
        return readFlowValue(member, isElement: false, base: base, depth: depth + 1)
    }

    /// An element. `[delete: {}]` has an object with one member.
    private mutating func readFlowElement(_ list: Int, _ base: Int, _ depth: Int) -> Bool {
        let element = outline.add(Outline.Node(range: index..<index, origin: index, parent: list), to: list)
        let start = index
        if !isQuote(byte), byte != UInt8(ascii: "{"), byte != UInt8(ascii: "["), let key = flowKey(),
            key.upperBound < end, bytes[key.upperBound] == UInt8(ascii: ":")
        {
            outline[element].content = .object
            outline[element].isFlow = true
            index = key.upperBound
            let member = addMember(key, to: element, hasColon: false)
            let goesOn = readFlowMemberValue(member, base, depth)
            outline[element].range = start..<index
            return goesOn
        }
        return readFlowValue(element, isElement: true, base: base, depth: depth + 1)
    }

    private func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    /// The name at the index. Nil if its quote is not closed.
    private func flowKey() -> Range<Int>? {
        if isQuote(byte) { return closingQuote(from: index).map { index..<$0 + 1 } }
        var position = index
        while !isLineEnd(position), !isBracketOrComma(bytes[position]) {
            if bytes[position] == UInt8(ascii: ":"),
                isSpace(position + 1) || isLineEnd(position + 1) || "[{,}]".utf8.contains(bytes[position + 1])
            {
                break
            }
            position += 1
        }
        while position > index, isSpace(position - 1), position < end { position -= 1 }
        return index..<position
    }

    private mutating func readFlowScalar(_ node: Int, isElement: Bool) {
        let start = index
        while !isLineEnd(index), !isBracketOrComma(bytes[index]) {
            if bytes[index] == UInt8(ascii: "#"), isSpace(index - 1) { break }
            index += 1
        }
        if index >= end { cursor = value(node, start..<end, isElement: isElement, isQuoted: false) }
        var last = index
        while last > start, isSpace(last - 1) { last -= 1 }
        outline[node].content = .scalar
        outline[node].range = start..<last
    }

    private func value(_ node: Int, _ range: Range<Int>, isElement: Bool, isQuoted: Bool) -> OutlineCursor {
        if isElement, let list = outline[node].parent { return .element(list: list, range, isQuoted: isQuoted) }
        return .value(node, range, isQuoted: isQuoted)
    }

    /// Reads a quoted scalar, which may have several lines. One that is not closed ends with its line.
    private mutating func readQuoted(_ node: Int, isElement: Bool, base: Int) -> Bool {
        let start = index
        outline[node].content = .scalar
        if let close = quoteAcrossLines(from: start, base: base) {
            index = close + 1
            if let lineBreak = bytes[start..<index].lastIndex(of: 0x0A) { moveLineStart(to: lineBreak + 1) }
        } else {
            while !isLineEnd(index) { index += 1 }
            if index >= end {
                cursor = value(node, start + 1..<max(start + 1, end), isElement: isElement, isQuoted: true)
            }
        }
        outline[node].range = start..<index
        return index < end
    }

    private func quoteAcrossLines(from start: Int, base: Int) -> Int? {
        if let close = closingQuote(from: start) { return close }
        let quote = bytes[start]
        var position = start + 1
        while position < end {
            switch bytes[position] {
            case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""): position += 1
            case quote: return position
            case 0x0A:
                var next = position + 1
                while isSpace(next) { next += 1 }
                if !isLineEnd(next), next - position - 1 <= base { return nil }
            default: break
            }
            position += 1
        }
        return nil
    }
}
