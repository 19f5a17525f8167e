internal import LosslessJSON

/// A snippet of the schema as YAML. Its texts may have places to fill in: `${1:name}`.
struct SnippetText {
    /// The text with its places.
    private(set) var snippet = ""
    /// The text with the default of each place.
    private(set) var plain = ""

    /// - Parameters:
    ///   - body: An object or a list.
    ///   - column: The indentation of its lines, except the first.
    ///   - isFlow: Whether it is written on one line.
    init(_ body: JSONValue, column: Int, isFlow: Bool) {
        write(body, column: column, isFlow: isFlow)
    }

    private mutating func add(_ text: String) {
        snippet += text
        plain += text
    }

    private mutating func lineBreak(_ column: Int) { add("\n" + String(repeating: " ", count: column)) }

    private mutating func write(_ value: JSONValue, column: Int, isFlow: Bool) {
        switch value.kind {
        case .object where value.childCount == 0: add("{}")
        case .object where isFlow:
            add("{ ")
            for (index, member) in value.members.enumerated() {
                if index > 0 { add(", ") }
                writeScalar(member.name.string ?? "")
                add(": ")
                write(member.value, column: column, isFlow: true)
            }
            add(" }")
        case .object:
            for (index, member) in value.members.enumerated() {
                if index > 0 { lineBreak(column) }
                writeMember(member, column: column)
            }
        case .array: writeList(value, column: column, isFlow: isFlow)
        case .string: writeScalar(value.string ?? "")
        case .null, .true, .false, .number: add(String(decoding: value.bytes, as: UTF8.self))
        }
    }

    private mutating func writeMember(_ member: JSONValue.Member, column: Int) {
        writeScalar(member.name.string ?? "")
        add(":")
        if Self.needsLines(member.value) {
            lineBreak(column + 2)
            write(member.value, column: column + 2, isFlow: false)
        } else {
            add(" ")
            write(member.value, column: column, isFlow: true)
        }
    }

    private mutating func writeList(_ value: JSONValue, column: Int, isFlow: Bool) {
        let isShort = isFlow || !Self.needsLines(value)
        if isShort { add("[") }
        for (index, element) in value.elements.enumerated() {
            if index > 0 { if isShort { add(", ") } else { lineBreak(column) } }
            if !isShort { add("- ") }
            write(element, column: column + 2, isFlow: isShort)
        }
        if isShort { add("]") }
    }

    /// Whether a value has lists of objects, or several levels, so that it is not written on one line.
    private static func needsLines(_ value: JSONValue) -> Bool {
        switch value.kind {
        case .array: value.elements.contains { $0.kind == .object && $0.childCount > 0 }
        case .object:
            value.members.contains { member in
                needsLines(member.value)
                    || (member.value.kind == .object && member.value.members.contains { $0.value.kind == .object })
            } || value.childCount > 3
        default: false
        }
    }

    private mutating func writeScalar(_ text: String) {
        let shown = Self.filled(text)
        let isQuoted = !Self.isPlain(shown)
        let quote = isQuoted ? "'" : ""
        let places = Self.escapingDollars(text)
        snippet += quote + (isQuoted ? places.replacing("'", with: "''") : places) + quote
        plain += quote + (isQuoted ? shown.replacing("'", with: "''") : shown) + quote
    }

    /// The text with a backslash before each dollar sign that begins no place: it would be read as a variable.
    private static func escapingDollars(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.popFirst() {
                result += "\\" + String(next)
            } else if character == "$", rest.prefixMatch(of: /\{[0-9]/) == nil {
                result += "\\$"
            } else {
                result.append(character)
            }
        }
        return result
    }

    /// The text with the defaults of its places.
    static func filled(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${"), let colon = rest[start.upperBound...].firstIndex(of: ":") {
            result += rest[..<start.lowerBound]
            var end = rest.index(after: colon)
            while end < rest.endIndex, rest[end] != "}" {
                if rest[end] == "\\" { end = rest.index(after: end) }
                guard end < rest.endIndex else { break }
                result.append(rest[end])
                end = rest.index(after: end)
            }
            rest = end < rest.endIndex ? rest[rest.index(after: end)...] : ""
        }
        return result + rest
    }

    /// Whether YAML reads the text as itself without quotes.
    static func isPlain(_ text: String) -> Bool {
        guard let first = text.first, !"-?:,[]{}#&*!|>'\"%@` ".contains(first) else { return false }
        if [".inf", ".nan"].contains(text.lowercased()) { return false }
        if text.contains(": ") || text.contains(" #") || text.hasSuffix(":") || text.hasSuffix(" ") { return false }
        if text.contains(where: { ",[]{}\n".contains($0) }) { return false }
        if ["true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL", "~"].contains(text) {
            return false
        }
        return text.wholeMatch(of: /[-+]?(\.?[0-9][0-9.eE+_xo-]*)/) == nil
    }
}
