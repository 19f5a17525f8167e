extension JSONValue {
    /// The value as a separate text, like ``copied()``, but with its part of the tape instead of a second scan, so no
    /// limits apply.
    func detached() -> JSONText {
        let start = range.lowerBound
        var tape = JSONTape()
        tape.nodes = text.nodes[index..<Int(node.next)].map { node in
            JSONNode(
                start: Int(node.start) - start, end: Int(node.end) - start, next: Int(node.next) - index,
                kind: node.kind, traits: node.traits)
        }
        return JSONText(bytes: Array(bytes), tape: tape)
    }

    /// The value's bytes without white space between tokens: always one line.
    package var compactBytes: [UInt8] { bytes.compactJSON }
}

extension Collection<UInt8> {
    /// Valid JSON without white space between tokens: always one line.
    package var compactJSON: [UInt8] {
        var compact: [UInt8] = []
        compact.reserveCapacity(count)
        var isInString = false
        var isEscaped = false
        for byte in self {
            if !isInString, byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
            compact.append(byte)
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return compact
    }
}
