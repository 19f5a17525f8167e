extension JSONTape {
    /// Checks the value that begins at `start` (after white space) against RFC 8259 and appends it to the tape.
    ///
    /// Strict: UTF-8 is checked (Unicode 15, table 3-7), and nothing outside the grammar is accepted. Lone surrogates
    /// in `\u` escapes are within the grammar and accepted. One pass, no recursion, no allocation except for the tape.
    ///
    /// - Parameters:
    ///   - text: May continue after the value. Offsets on the tape are offsets in it.
    ///   - start: The offset to begin at.
    /// - Returns: The offset after the value. A number at the very end of `text` counts as complete.
    /// - Throws: ``JSONError``. The tape is then unchanged. After `.unexpectedEnd`, the same call with more text may
    ///   succeed. After any other error it will fail again.
    public mutating func scanValue(
        in text: Span<UInt8>, from start: Int = 0, limits: JSONLimits = .documents
    ) throws(JSONError) -> Int {
        precondition(start >= 0, "the start must not be negative")
        let base = nodes.count
        // A value has at most as many nodes as bytes, so offsets and indices stay within the tape's 32 bits.
        let length = min(limits.length, Int(UInt32.max) - 1, Int(UInt32.max) - 1 - base)
        guard text.count <= length else { throw JSONError(.tooLong(limit: length), at: length) }
        do throws(JSONError) {
            return try scan(text, from: start, depthLimit: limits.depth)
        } catch {
            nodes.removeSubrange(base...)
            throw error
        }
    }

    /// Checks that `text` is one value with only white space around it, and appends it to the tape.
    ///
    /// - Returns: The index of its node.
    /// - Throws: ``JSONError``. The tape is then unchanged.
    public mutating func scanDocument(
        _ text: Span<UInt8>, limits: JSONLimits = .documents
    ) throws(JSONError) -> Int {
        let root = nodes.count
        let end = skipWhitespace(text, from: try scanValue(in: text, limits: limits))
        guard end == text.count else {
            nodes.removeSubrange(root...)
            throw JSONError(.unexpectedByte(text[end], expected: .endOfText), at: end)
        }
        return root
    }

    private static let noParent = UInt32.max

    /// The main loop. `open` is the innermost open container; the `next` of its node is the enclosing container.
    private mutating func scan(
        _ text: Span<UInt8>, from start: Int, depthLimit: Int
    ) throws(JSONError) -> Int {
        var at = skipWhitespace(text, from: start)
        var open = Self.noParent
        var inObject = false
        var depth = 0

        while true {
            // A value begins at `at`.
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
            let byte = text[unchecked: at]
            switch byte {
            case UInt8(ascii: "\""):
                at = try scanString(text, from: at)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= depthLimit else { throw JSONError(.tooDeep(limit: depthLimit), at: at) }
                inObject = byte == UInt8(ascii: "{")
                let node = nodes.count
                nodes.append(
                    JSONNode(start: at, end: at, next: Int(open), kind: inObject ? .object : .array))
                open = UInt32(truncatingIfNeeded: node)
                at = skipWhitespace(text, from: at + 1)
                guard at < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
                if text[unchecked: at] != (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if inObject { at = try scanMemberName(text, from: at, expected: .memberNameOrEnd) }
                    continue
                }  // Otherwise it is empty and is closed below.
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                at = try scanNumber(text, from: at)
            case UInt8(ascii: "t"): at = try scanLiteral("true", .true, text, from: at)
            case UInt8(ascii: "f"): at = try scanLiteral("false", .false, text, from: at)
            case UInt8(ascii: "n"): at = try scanLiteral("null", .null, text, from: at)
            default:
                let mayEnd = open != Self.noParent && !inObject && nodes.count == Int(open) + 1
                throw JSONError(.unexpectedByte(byte, expected: mayEnd ? .valueOrEndOfArray : .value), at: at)
            }

            // A value has ended, or an empty container is open. Closes containers until one has another value.
            while true {
                if open == Self.noParent { return at }
                at = skipWhitespace(text, from: at)
                guard at < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
                let byte = text[unchecked: at]
                if byte == UInt8(ascii: ",") {
                    at = skipWhitespace(text, from: at + 1)
                    if inObject { at = try scanMemberName(text, from: at, expected: .memberName) }
                    break
                }
                guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONError(
                        .unexpectedByte(byte, expected: inObject ? .commaOrEndOfObject : .commaOrEndOfArray), at: at)
                }
                at += 1
                depth -= 1
                open = close(Int(open), at: at)
                inObject = open != Self.noParent && nodes[Int(open)].kind == .object
            }
        }
    }

    /// Completes the node of a container that ends before `end`. Returns the parent container.
    @inline(__always)
    private mutating func close(_ node: Int, at end: Int) -> UInt32 {
        let parent = nodes[node].next
        nodes[node].end = UInt32(truncatingIfNeeded: end)
        nodes[node].next = UInt32(truncatingIfNeeded: nodes.count)
        return parent
    }

    /// Scans a member name, its colon and the white space before the value.
    @inline(__always)
    private mutating func scanMemberName(
        _ text: Span<UInt8>, from start: Int, expected: JSONError.Expectation
    ) throws(JSONError) -> Int {
        guard start < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
        guard text[unchecked: start] == UInt8(ascii: "\"") else {
            throw JSONError(.unexpectedByte(text[start], expected: expected), at: start)
        }
        let colon = skipWhitespace(text, from: try scanString(text, from: start))
        guard colon < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
        guard text[unchecked: colon] == UInt8(ascii: ":") else {
            throw JSONError(.unexpectedByte(text[colon], expected: .colon), at: colon)
        }
        return skipWhitespace(text, from: colon + 1)
    }

    /// Scans a string from its opening quote. Returns the offset after the closing one.
    @inline(__always)
    private mutating func scanString(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start + 1
        var traits: JSONNode.Traits = []
        while true {
            at = text.indexOfStringStop(from: at)
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
            switch text[unchecked: at] {
            case UInt8(ascii: "\""):
                at += 1
                nodes.append(JSONNode(start: start, end: at, next: nodes.count + 1, kind: .string, traits: traits))
                return at
            case UInt8(ascii: "\\"):
                traits.insert(.escaped)
                at = try text.skipEscape(from: at)
            case 0x80...:
                traits.insert(.nonASCII)
                // Such characters usually come in runs.
                repeat {
                    at = try text.skipMultibyteScalar(from: at)
                } while at < text.count && text[unchecked: at] >= 0x80
            case let byte:
                throw JSONError(.controlCharacterInString(byte), at: at)
            }
        }
    }

    private mutating func scanNumber(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start
        var traits: JSONNode.Traits = .integer
        if text[unchecked: at] == UInt8(ascii: "-") { at += 1 }
        if at < text.count, text[unchecked: at] == UInt8(ascii: "0") {
            at += 1
        } else {
            at = try text.skipDigits(from: at)
        }
        if at < text.count, text[unchecked: at] == UInt8(ascii: ".") {
            traits = []
            at = try text.skipDigits(from: at + 1)
        }
        if at < text.count, text[unchecked: at] | 0x20 == UInt8(ascii: "e") {
            traits = []
            at += 1
            if at < text.count, text[unchecked: at] == UInt8(ascii: "+") || text[unchecked: at] == UInt8(ascii: "-") {
                at += 1
            }
            at = try text.skipDigits(from: at)
        }
        nodes.append(JSONNode(start: start, end: at, next: nodes.count + 1, kind: .number, traits: traits))
        return at
    }

    private mutating func scanLiteral(
        _ literal: StaticString, _ kind: JSONKind, _ text: Span<UInt8>, from start: Int
    ) throws(JSONError) -> Int {
        let end = start + literal.utf8CodeUnitCount
        for offset in 1..<literal.utf8CodeUnitCount {
            guard start + offset < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
            let byte = text[start + offset]
            guard byte == literal.utf8Start[offset] else {
                throw JSONError(.unexpectedByte(byte, expected: .literal), at: start + offset)
            }
        }
        nodes.append(JSONNode(start: start, end: end, next: nodes.count + 1, kind: kind))
        return end
    }
}

/// The offset of the first byte at or after `start` that is not JSON white space.
@inline(__always)
package func skipWhitespace(_ text: Span<UInt8>, from start: Int) -> Int {
    var at = start
    while at < text.count {
        switch text[unchecked: at] {
        case 0x20, 0x0A, 0x0D, 0x09: at += 1
        default: return at
        }
    }
    return at
}
