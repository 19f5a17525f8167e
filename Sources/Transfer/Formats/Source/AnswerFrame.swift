internal import LosslessJSON

/// The JSON around the documents in a gateway's answer, or in the body of a `_bulk_docs` request.
enum AnswerFrame {
    /// `{"rows":[{"doc":…},…]}`
    case rows
    /// `{"docs":[…]}`
    case documents

    /// Members that may come before the array. No document begins with only these members.
    private static let otherNames: [StaticString] = ["total_rows", "offset", "update_seq", "pending", "new_edits"]
    /// Bytes within which the array must begin.
    private static let maxPrefixBytes = 64 << 10
    /// The maximum number of bytes of one member after the array.
    private static let tailLimit = 1 << 20

    private enum Head {
        case frame(AnswerFrame, end: Int)
        case other
        case incomplete
    }

    /// Consumes the beginning of an answer up to its first row. Returns nil, and consumes nothing, if it is not an
    /// answer.
    static func readHead(_ window: inout TextWindow) -> AnswerFrame? {
        while true {
            switch window.withText(upTo: maxPrefixBytes, { head(of: $0) }) {
            case .frame(let frame, let end):
                window.drop(end)
                return frame
            case .other: return nil
            case .incomplete:
                guard window.count < maxPrefixBytes, window.fill() else { return nil }
            }
        }
    }

    private static func head(of text: Span<UInt8>) -> Head {
        var at = skipWhitespace(text, from: 1)
        while true {
            var tape = JSONTape()
            guard at < text.count else { return .incomplete }
            guard text[at] == UInt8(ascii: "\"") else { return .other }
            guard let nameEnd = try? tape.scanValue(in: text, from: at) else { return .incomplete }
            let colon = skipWhitespace(text, from: nameEnd)
            let value = skipWhitespace(text, from: colon + 1)
            guard value < text.count else { return .incomplete }
            guard text[colon] == UInt8(ascii: ":") else { return .other }
            let name = text.extracting(at + 1..<nameEnd - 1)
            if let frame = frame(named: name), text[value] == UInt8(ascii: "[") {
                let first = skipWhitespace(text, from: value + 1)
                guard first < text.count else { return .incomplete }
                let isArray = text[first] == UInt8(ascii: "{") || text[first] == UInt8(ascii: "]")
                return isArray ? .frame(frame, end: value + 1) : .other
            }
            guard otherNames.contains(where: { name.isEqual(to: $0) }) else { return .other }
            guard let end = try? tape.scanValue(in: text, from: value) else { return .incomplete }
            let comma = skipWhitespace(text, from: end)
            guard comma < text.count else { return .incomplete }
            guard text[comma] == UInt8(ascii: ",") else { return .other }
            at = skipWhitespace(text, from: comma + 1)
        }
    }

    private static func frame(named name: Span<UInt8>) -> AnswerFrame? {
        if name.isEqual(to: "rows") { return .rows }
        return name.isEqual(to: "docs") ? .documents : nil
    }

    /// Reads from the end of the array to the answer's closing bracket.
    static func readTail(_ window: inout TextWindow) throws(SourceError) {
        var values = ValueReader(limit: tailLimit)
        while try !window.take(UInt8(ascii: "}"), or: UInt8(ascii: ","), expected: .commaOrEndOfObject) {
            try readValue(&window, &values)
            let colon = UInt8(ascii: ":")
            _ = try window.take(colon, or: colon, expected: .colon)
            try readValue(&window, &values)
        }
    }

    private static func readValue(_ window: inout TextWindow, _ values: inout ValueReader) throws(SourceError) {
        _ = try window.nextByte()
        switch values.read(&window) {
        case .value(_, let end): window.drop(end)
        case .error(let error):
            try window.finish()
            throw SourceError(.structure(.json(error.reason)), at: window.place(of: error.offset))
        }
    }
}

extension TextWindow {
    /// The next byte that is not white space; it is not consumed.
    mutating func nextByte() throws(SourceError) -> UInt8 {
        if let byte = skipWhitespace() { return byte }
        try finish()
        throw SourceError(.structure(.json(.unexpectedEnd)), at: place)
    }

    /// Consumes one of two bytes. Returns whether it was the first one.
    fileprivate mutating func take(
        _ one: UInt8, or other: UInt8, expected: JSONError.Expectation
    ) throws(SourceError) -> Bool {
        let byte = try nextByte()
        guard byte == one || byte == other else {
            throw SourceError(.structure(.json(.unexpectedByte(byte, expected: expected))), at: place)
        }
        drop(1)
        return byte == one
    }
}

extension Span<UInt8> {
    fileprivate func isEqual(to characters: StaticString) -> Bool {
        guard count == characters.utf8CodeUnitCount else { return false }
        for index in indices where self[index] != characters.utf8Start[index] { return false }
        return true
    }
}
