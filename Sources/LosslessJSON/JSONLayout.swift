extension JSONValue {
    /// The value in a readable layout: one member or element per line, a short array of scalars on one line.
    ///
    /// Strings and numbers keep their spelling. Control characters (including U+0080 to U+009F) and characters that
    /// change the direction of text become `\uXXXX`, so that no document can control the terminal. Does not recurse.
    ///
    /// - Parameters:
    ///   - indent: Spaces per level. Levels beyond the first 100 are not indented further.
    ///   - stringLimit: The maximum number of bytes shown of a string, number or member name. The rest becomes
    ///     `… (N bytes)`, where N is the full length.
    public func indentedLines(indent: Int = 2, stringLimit: Int = 200) -> [String] {
        var layout = JSONLayout(indent: max(indent, 0), limit: max(stringLimit, 0))
        layout.write(self)
        return layout.lines
    }
}

/// Lays out one value, line by line.
struct JSONLayout {
    private enum Step {
        case value(JSONValue, depth: Int, prefix: String, isLast: Bool)
        case line(String, depth: Int)
    }

    private(set) var lines: [String] = []
    private let indent: Int
    private let limit: Int
    /// The remaining steps, next one last.
    private var steps: [Step] = []

    /// The maximum number of columns of an array of scalars on one line.
    private static let shortArray = 60
    /// Deeper levels are not indented further: at 10,000 levels the indentation would be larger than the document.
    private static let deepest = 100

    init(indent: Int, limit: Int) {
        self.indent = indent
        self.limit = limit
    }

    mutating func write(_ value: JSONValue) {
        steps = [.value(value, depth: 0, prefix: "", isLast: true)]
        while let step = steps.popLast() {
            switch step {
            case .line(let line, let depth): append(line, depth)
            case .value(let value, let depth, let prefix, let isLast):
                if let line = onOneLine(value) {
                    append(prefix + line + (isLast ? "" : ","), depth)
                } else {
                    open(value, depth, prefix, isLast)
                }
            }
        }
    }

    private mutating func append(_ line: String, _ depth: Int) {
        lines.append(String(repeating: " ", count: min(depth, Self.deepest) * indent) + line)
    }

    private mutating func open(_ value: JSONValue, _ depth: Int, _ prefix: String, _ isLast: Bool) {
        let isObject = value.kind == .object
        append(prefix + (isObject ? "{" : "["), depth)
        var inner: [Step] = [.line((isObject ? "}" : "]") + (isLast ? "" : ","), depth: depth)]
        let members = value.members.map { (prefix: shown($0.name) + ": ", value: $0.value) }
        let elements = value.elements.map { (prefix: "", value: $0) }
        for (prefix, child) in (members + elements).reversed() {
            inner.append(.value(child, depth: depth + 1, prefix: prefix, isLast: inner.count == 1))
        }
        steps.append(contentsOf: inner)
    }

    /// Scalars, empty containers and short arrays of scalars. Nil for a value that needs several lines.
    private func onOneLine(_ value: JSONValue) -> String? {
        guard value.kind >= .array else { return shown(value) }
        guard value.hasChildren else { return value.kind == .array ? "[]" : "{}" }
        guard value.kind == .array else { return nil }
        var line = ""
        for element in value.elements {
            guard element.kind < .array, element.bytes.count <= Self.shortArray else { return nil }
            line += (line.isEmpty ? "[" : ", ") + shown(element)
            guard line.utf8.count < Self.shortArray else { return nil }
        }
        return line + "]"
    }

    /// A scalar as spelled, with control characters escaped, and cut if it is too long.
    private func shown(_ value: JSONValue) -> String {
        guard value.bytes.count - (value.kind == .string ? 2 : 0) > limit else {
            return Self.escapingControls(value.bytes)
        }
        let content = value.kind == .string ? value.rawContent : value.bytes
        var start = content.prefix(limit)
        // Does not cut inside a character: goes back over its UTF-8 continuation bytes.
        while let next = content[start.endIndex...].first, next & 0xC0 == 0x80, !start.isEmpty { start.removeLast() }
        let quote = value.kind == .string ? "\"" : ""
        return quote + Self.escapingControls(start) + "\(quote)… (\(content.count) bytes)"
    }

    private static func escapingControls(_ bytes: ArraySlice<UInt8>) -> String {
        var result = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension JSONValue {
    /// Whether this is a non-empty container.
    fileprivate var hasChildren: Bool { Int(node.next) > index + 1 }
}
