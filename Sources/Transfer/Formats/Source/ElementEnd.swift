/// Finds where a broken element of an array ends: at the first of these places.
///
/// - The comma or bracket after it, if brackets match and no string runs past the end of its line.
/// - A comma at the end of a line, if the next line begins with the element's own indentation and `{`.
/// - A line that begins with `]`.
struct ElementEnd: BrokenTextScanner {
    private static let maxDepth = 10_000
    private static let maxGap = 64 << 10

    private let indentation: [UInt8]
    /// The closing brackets still expected; nil once brackets and quotes are no longer reliable.
    private var closers: [UInt8]? = []
    private var isInString = false
    private var isEscaped = false
    /// Bytes from the last comma on, if only white space followed it; otherwise 0.
    private var sinceComma = 0
    /// Bytes of the current line so far, if they match the start of ``indentation``; otherwise nil.
    private var indented: Int?

    /// - Parameter indentation: White space before the element on its line; empty if it does not begin a line.
    init(indentation: [UInt8]) { self.indentation = indentation }

    var undecidedCount: Int { max(sinceComma, indented.map { $0 + 1 } ?? 0) }

    mutating func scan(_ byte: UInt8) -> Int? { scanLine(byte) ?? scanBrackets(byte) }

    private mutating func scanLine(_ byte: UInt8) -> Int? {
        if byte == UInt8(ascii: "{"), sinceComma > 0, indented == indentation.count { return sinceComma + 1 }
        if byte == UInt8(ascii: "]"), indented == 0 { return 2 }
        if byte == UInt8(ascii: ",") {
            sinceComma = 1
        } else {
            sinceComma = sinceComma > 0 && sinceComma < Self.maxGap && byte.isJSONWhitespace ? sinceComma + 1 : 0
        }
        if byte == UInt8(ascii: "\n") {
            indented = 0
        } else if let count = indented {
            indented = count < indentation.count && indentation[count] == byte ? count + 1 : nil
        }
        return nil
    }

    private mutating func scanBrackets(_ byte: UInt8) -> Int? {
        guard let open = closers else { return nil }
        if isInString {
            scanString(byte)
            return nil
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: ","), UInt8(ascii: "]"):
            if open.isEmpty { return 1 }
            if byte == UInt8(ascii: "]") { close(byte) }
        case UInt8(ascii: "}"): close(byte)
        case UInt8(ascii: "{"): self.open(UInt8(ascii: "}"))
        case UInt8(ascii: "["): self.open(UInt8(ascii: "]"))
        default: break
        }
        return nil
    }

    private mutating func scanString(_ byte: UInt8) {
        if byte == UInt8(ascii: "\n") {
            closers = nil
        } else if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }

    private mutating func open(_ closer: UInt8) {
        closers?.append(closer)
        if let count = closers?.count, count > Self.maxDepth { closers = nil }
    }

    private mutating func close(_ closer: UInt8) {
        if closers?.popLast() != closer { closers = nil }
    }
}
