internal import LosslessJSON

/// The name of a member as one part of a column's path.
///
/// In a path, `.` separates parts and `:` begins the type; in a name, these and `\` are escaped with `\`. `\e` is the
/// empty name, `\uXXXX` a lone surrogate.
struct CSVMemberName: Hashable, Sendable {
    /// The name between the quotes in normalized JSON spelling, so that equal names are equal.
    private let content: [UInt8]

    init(_ name: JSONValue) {
        guard name.isEscaped, let parts = name.stringParts else {
            content = Array(name.rawContent)
            return
        }
        content = parts.reduce(into: []) { $0 += Self.content(of: $1.text) + $1.loneSurrogate }
    }

    private init(content: [UInt8]) { self.content = content }

    static let empty = CSVMemberName(content: [])
    static let attachments = CSVMemberName(content: Array("_attachments".utf8))

    /// The name as JSON text, in quotes.
    var literal: [UInt8] { [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")] }

    /// Whether `name` is this name, spelled without escapes.
    func isSpelled(_ name: JSONValue) -> Bool { !name.isEscaped && name.rawContent.elementsEqual(content) }

    /// The name within a path.
    var pathPart: [UInt8] {
        guard !content.isEmpty else { return Array(#"\e"#.utf8) }
        let parts = (try? JSONText(literal))?.root.stringParts ?? []
        var result: [UInt8] = []
        for part in parts {
            for byte in part.text {
                if Self.special.contains(byte) { result.append(UInt8(ascii: "\\")) }
                result.append(byte)
            }
            result += part.loneSurrogate
        }
        return result
    }

    private static let special = Array(#".:\"#.utf8)

    private static func content(of text: [UInt8]) -> [UInt8] {
        var literal: [UInt8] = []
        literal.appendJSONString(text)
        return Array(literal.dropFirst().dropLast())
    }

    /// The names in a column's path, which a type may follow. Empty if the path is not valid, or a name is not text.
    static func names(in path: [UInt8]) -> [String] {
        var rest = path[...]
        var names: [String] = []
        while let name = take(from: &rest) {
            guard let text = (try? JSONText(name.literal))?.root.string else { return [] }
            names.append(text)
            if rest.first != UInt8(ascii: ".") { return names }
            rest.removeFirst()
        }
        return []
    }

    /// Removes the first part of a path, up to the next `.` or `:`.
    ///
    /// - Returns: Nil if the part is empty or has an invalid escape.
    static func take(from path: inout ArraySlice<UInt8>) -> CSVMemberName? {
        var content: [UInt8] = []
        var text: [UInt8] = []
        var isEmptyName = false
        let start = path.startIndex
        while let byte = path.first, byte != UInt8(ascii: "."), byte != UInt8(ascii: ":") {
            path.removeFirst()
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = path.popFirst() else { return nil }
            switch escaped {
            case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "\\"): text.append(escaped)
            case UInt8(ascii: "e"): isEmptyName = true
            case UInt8(ascii: "u"):
                guard path.count >= 4, isSurrogate(path.prefix(4)) else { return nil }
                content += Self.content(of: text) + Array(#"\u"#.utf8) + path.prefix(4)
                text = []
                path.removeFirst(4)
            default: return nil
            }
        }
        guard path.startIndex > start, !isEmptyName || path.startIndex == start + 2 else { return nil }
        return CSVMemberName(content: content + Self.content(of: text))
    }

    /// `d800` to `dfff`.
    private static func isSurrogate(_ digits: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: digits, as: UTF8.self)
        return text == text.lowercased() && UInt16(text, radix: 16).map { (0xD800...0xDFFF).contains($0) } ?? false
    }
}
