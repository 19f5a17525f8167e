/// What people and other programs write instead of JSON, found from the place of a syntax error.
package enum JSONMistake {
    /// What to do about an error, as the end of a sentence. Nil if no cause is probable.
    ///
    /// - Parameters:
    ///   - error: Its offset is an index of `text`.
    ///   - text: The text that was scanned, at least up to the end of the line with the error.
    package static func remedy(for error: JSONError, in text: [UInt8]) -> String? {
        let place = MistakePlace(text, at: error.offset)
        switch error.reason {
        case .unexpectedEnd: return "it was cut off, or a closing bracket or quote is missing: complete it"
        case .invalidUTF8: return "save the text as UTF-8"
        case .controlCharacterInString(let byte): return remedy(forControlCharacter: byte)
        case .invalidEscape: return #"write each backslash of a text twice, as \\"#
        case .unexpectedByte(_, let expected): return place.remedy(expecting: expected)
        case .tooDeep, .tooLong: return nil
        }
    }

    private static func remedy(forControlCharacter byte: UInt8) -> String {
        switch byte {
        case 0x09: return #"write a tab in a text as \t"#
        case 0x0A, 0x0D: return #"write a line break in a text as \n, or add the missing quote"#
        default:
            let hex = String(byte, radix: 16)
            return "write it as \\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
    }
}

/// The text around a syntax error.
private struct MistakePlace {
    private let text: [UInt8]
    private let offset: Int

    init(_ text: [UInt8], at offset: Int) { (self.text, self.offset) = (text, offset) }

    func remedy(expecting expected: JSONError.Expectation) -> String? {
        if let remedy = commentRemedy ?? quoteRemedy ?? commaRemedy { return remedy }
        switch expected {
        case .value, .valueOrEndOfArray: return valueRemedy
        case .literal: return "write true, false and null in lower case, and text in double quotes"
        case .memberName, .memberNameOrEnd: return isWord(at: offset) ? "put member names in double quotes" : nil
        case .colon: return byte == UInt8(ascii: "=") ? "write ':' instead" : nil
        case .commaOrEndOfObject, .commaOrEndOfArray: return separatorRemedy
        case .digit: return digitRemedy
        case .endOfText: return endRemedy
        case .completeRow: return nil
        }
    }

    /// Of a comma without a value before or after it.
    private var commaRemedy: String? {
        if previous == UInt8(ascii: ","), isByte(in: "}]") { return "remove the comma before it" }
        guard isByte(in: ",") else { return nil }
        if let previous, ",[{".utf8.contains(previous) { return "remove the comma" }
        return nil
    }

    private var commentRemedy: String? {
        let isComment = isByte(in: "#") || isByte(in: "/") && (follows("/", at: 1) || follows("*", at: 1))
        return isComment ? "remove the comment: JSON has none" : nil
    }

    private var quoteRemedy: String? {
        if isByte(in: "'`") { return "write double quotes instead" }
        // U+201C to U+201F, U+2018 to U+201B; U+00AB and U+00BB.
        let bytes = text.dropFirst(offset).prefix(3)
        let isTypographic =
            bytes.starts(with: [0xE2, 0x80]) && (0x98...0x9F).contains(bytes.last ?? 0)
            || bytes.starts(with: [0xC2, 0xAB]) || bytes.starts(with: [0xC2, 0xBB])
        return isTypographic ? "write straight double quotes instead of typographic ones" : nil
    }

    private var valueRemedy: String? {
        let word = word(at: offset)
        switch word.lowercased() {
        case "true", "false", "null": return "write it in lower case"
        case "none", "nil", "undefined": return "write null"
        case "nan", "inf", "infinity": return Self.nonFiniteRemedy
        case "isodate", "objectid", "numberlong", "numberint", "numberdecimal", "bindata", "timestamp", "new", "uuid":
            return "this is the notation of MongoDB's shell; export the data with mongoexport"
        case "u", "b", "r":
            if follows("'", at: 1) || follows("\"", at: 1) { return "write double quotes without '\(word)'" }
        default: break
        }
        if isByte(in: "<"), previous == nil { return "this is HTML or XML; save the data as JSON" }
        if isByte(in: ".+") { return "begin numbers with a digit or '-', as 0.5" }
        if isByte(in: "}],"), previous == UInt8(ascii: ":") { return "add a value, such as null" }
        return word.isEmpty || previous == nil ? nil : "put text in double quotes"
    }

    private static let nonFiniteRemedy = "JSON has no such number: write null, or leave out the member"

    /// Where a value has ended, and another separator was expected.
    private var separatorRemedy: String? {
        if isDigit(at: offset), previous == UInt8(ascii: "0") {
            return "remove the zeros at the beginning of the number"
        }
        if isByte(in: "\"{[") { return "add the missing comma before it" }
        guard isWord(at: offset) else { return nil }
        switch previous {
        case UInt8(ascii: "\""): return #"write a quote that is part of a text as \""#
        case let byte? where (0x30...0x39).contains(byte): return "write numbers without separators and units"
        default: return nil
        }
    }

    private var digitRemedy: String? {
        let word = word(at: offset).lowercased()
        if word == "inf" || word == "infinity" || word == "nan" { return Self.nonFiniteRemedy }
        return previous == UInt8(ascii: ".") ? "add a digit after the point, or remove the point" : nil
    }

    private var endRemedy: String? {
        if isByte(in: ",;") { return "remove it: only documents in [ ] have commas between them" }
        return isByte(in: "}]") ? "remove it, or add the opening bracket that belongs to it" : nil
    }
}

extension MistakePlace {
    private var byte: UInt8? { text.indices.contains(offset) ? text[offset] : nil }

    /// The last byte before the error that is not white space.
    private var previous: UInt8? { text.prefix(offset).last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } }

    private func isByte(in characters: String) -> Bool { byte.map(characters.utf8.contains) ?? false }

    private func follows(_ character: Unicode.Scalar, at distance: Int) -> Bool {
        text.dropFirst(offset + distance).first.map { UInt32($0) == character.value } ?? false
    }

    private func isDigit(at index: Int) -> Bool {
        text.indices.contains(index) && (0x30...0x39).contains(text[index])
    }

    /// Whether a letter, a digit, `_`, `$` or a character beyond ASCII is there.
    private func isWord(at index: Int) -> Bool {
        guard text.indices.contains(index) else { return false }
        let byte = text[index]
        return byte >= 0x80 || isDigit(at: index) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
            || (0x61...0x7A).contains(byte | 0x20)
    }

    /// The word that begins there, at most 20 bytes of it.
    private func word(at index: Int) -> String {
        let end = (index..<min(index + 20, max(text.count, index))).first { !isWord(at: $0) }
        return String(decoding: text[min(index, text.count)..<(end ?? min(index + 20, text.count))], as: UTF8.self)
    }
}
