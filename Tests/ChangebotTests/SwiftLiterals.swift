/// The string literals of a Swift source file, each with what stands around it.
///
/// Knows comments, raw and multi-line literals, interpolations and brackets; nothing else of the language.
/// - Note: Source: "Lexical Structure" in The Swift Programming Language.
struct SwiftLiterals {
    struct Literal {
        /// Where it begins, from 1.
        let line: Int
        /// The text before, between and after interpolations. Escapes are resolved; white space at the beginning of
        /// lines is one space.
        fileprivate(set) var parts: [String]
        /// The bracket that it stands in, and those around that one up to the next block. A call has its name, such as
        /// `logger.info`; other brackets have none.
        let brackets: [String]
        /// The end of the source text before it.
        let before: String
    }

    /// In the order in which they begin. Those inside an interpolation follow the one around it.
    private(set) var literals: [Literal] = []

    private struct Bracket {
        let opener: UInt8
        let name: String
    }

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    private var open: [Bracket] = []

    init(_ source: String) {
        bytes = Array(source.utf8)
        readCode(inInterpolation: false)
    }

    // MARK: - Code

    private mutating func readCode(inInterpolation isInside: Bool) {
        let depth = open.count
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "/") where isNext("//"): while index < bytes.count, byte() != Self.newline { index += 1 }
            case UInt8(ascii: "/") where isNext("/*"): skipComment()
            case UInt8(ascii: "\""), UInt8(ascii: "#"):
                if let hashes = hashesOfLiteral() { readLiteral(hashes) } else { index += 1 }
            case UInt8(ascii: ")") where isInside && open.count == depth:
                index += 1
                open.removeLast()
                return
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
                open.append(Bracket(opener: byte(), name: byte() == UInt8(ascii: "(") ? nameBefore() : ""))
                index += 1
            case UInt8(ascii: ")"): close(UInt8(ascii: "("), downTo: depth)
            case UInt8(ascii: "]"): close(UInt8(ascii: "["), downTo: depth)
            case UInt8(ascii: "}"): close(UInt8(ascii: "{"), downTo: depth)
            case UInt8(ascii: "\\"): index += 2
            default: skip()
            }
        }
    }

    /// Brackets in the pattern of a regular expression need not be pairs: what it left open is forgotten here.
    private mutating func close(_ opener: UInt8, downTo depth: Int) {
        index += 1
        guard let match = open.lastIndex(where: { $0.opener == opener }), match >= depth else { return }
        open.removeSubrange(match...)
    }

    private mutating func skipComment() {
        while index < bytes.count, !isNext("*/") { skip() }
        index += 2
    }

    // MARK: - Literals

    /// How many `#` the literal that begins here has; nil if none begins.
    private func hashesOfLiteral() -> Int? {
        let hashes = bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count
        return byte(hashes) == UInt8(ascii: "\"") ? hashes : nil
    }

    private mutating func readLiteral(_ hashes: Int) {
        let place = literals.count
        literals.append(Literal(line: line, parts: [], brackets: brackets, before: textBefore()))
        index += hashes
        let isMultiLine =
            isNext("\"\"\"") && bytes[min(index + 3, bytes.count)...].first { $0 != UInt8(ascii: " ") } == Self.newline
        let quotes = isMultiLine ? 3 : 1
        let marks = Array(repeating: UInt8(ascii: "#"), count: hashes)
        let end = Array(repeating: UInt8(ascii: "\""), count: quotes) + marks
        let escape = [UInt8(ascii: "\\")] + marks
        index += quotes
        var parts: [String] = []
        var part: [UInt8] = []
        while index < bytes.count, !isNext(end), isMultiLine || byte() != Self.newline {
            if isNext(escape) {
                index += escape.count
                if byte() == UInt8(ascii: "(") {
                    parts.append(String(decoding: part, as: UTF8.self))
                    part = []
                    index += 1
                    open.append(Bracket(opener: UInt8(ascii: "("), name: ""))
                    readCode(inInterpolation: true)
                } else {
                    part += readEscape()
                }
            } else if byte() == Self.newline {
                part.append(UInt8(ascii: " "))
                skipLineStart()
            } else {
                part.append(byte())
                index += 1
            }
        }
        index = min(index + end.count, bytes.count)
        literals[place].parts = parts + [String(decoding: part, as: UTF8.self)]
    }

    /// What stands after the backslash.
    private mutating func readEscape() -> [UInt8] {
        switch byte() {
        case UInt8(ascii: "n"), UInt8(ascii: "t"), UInt8(ascii: "r"):
            index += 1
            return [UInt8(ascii: " ")]
        case UInt8(ascii: "u"):
            let digits = bytes[index...].dropFirst(2).prefix { $0 != UInt8(ascii: "}") }
            index += digits.count + 3
            let scalar = UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
            return scalar.map { Array(String($0).utf8) } ?? []
        case Self.newline:
            skipLineStart()
            return []
        default:
            defer { index += 1 }
            return [byte()]
        }
    }

    private mutating func skipLineStart() {
        skip()
        while index < bytes.count, byte() == UInt8(ascii: " ") { index += 1 }
    }

    // MARK: - What stands around

    private var brackets: [String] {
        open.reversed().prefix { $0.opener != UInt8(ascii: "{") }.map(\.name)
    }

    private func textBefore() -> String {
        let text = String(decoding: bytes[max(0, index - 80)..<index], as: UTF8.self)
        return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The name of the function that is called.
    private func nameBefore() -> String {
        var start = index
        while start > 0, Self.isOfName(bytes[start - 1]) { start -= 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."),
            UInt8(ascii: "?"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    // MARK: - Bytes

    private static let newline = UInt8(ascii: "\n")

    private func byte(_ offset: Int = 0) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }

    private func isNext(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[min(index, bytes.count)...].starts(with: $0) }
    }

    private func isNext(_ text: [UInt8]) -> Bool { bytes[min(index, bytes.count)...].starts(with: text) }

    private mutating func skip() {
        if byte() == Self.newline { line += 1 }
        index += 1
    }
}
