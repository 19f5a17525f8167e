internal import LosslessJSON

/// Writes values in YAML's flow style, on one line: `{ _id: t1, type: task }`.
enum FlowText {
    static func text(_ value: JSONValue) -> String {
        switch value.kind {
        case .null, .true, .false, .number: String(decoding: value.bytes, as: UTF8.self)
        case .string: text(value.string, or: value.bytes)
        case .array:
            value.element(0) == nil ? "[]" : "[" + value.elements.map(text).joined(separator: ", ") + "]"
        case .object:
            value.members.first { _ in true } == nil
                ? "{}"
                : "{ "
                    + value.members.map { "\(text($0.name.string, or: $0.name.bytes)): \(text($0.value))" }
                    .joined(separator: ", ") + " }"
        }
    }

    static func text(_ node: SourceNode) -> String { text(node.jsonText.root) }

    /// A string in double quotes, on one line.
    ///
    /// Characters that can't be seen are escaped: line separators would move the lines of the file in some editors, and
    /// marks of direction would show it in another order.
    static func quoted(_ text: String) -> String {
        var json: [UInt8] = []
        json.appendJSONString(text.utf8)
        return String(decoding: json, as: UTF8.self).unicodeScalars.reduce(into: "") { written, character in
            written += character.isVisible ? String(character) : character.yamlEscape
        }
    }

    /// A string, in quotes unless it is a plain word.
    private static func text(_ string: String?, or json: some Collection<UInt8>) -> String {
        guard let string else { return String(decoding: json, as: UTF8.self) }
        return isPlain(string) ? string : quoted(string)
    }

    private static let words: Set<String> = ["null", "true", "false", "yes", "no", "on", "off"]

    private static func isPlain(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_.\/-]*/) != nil && !words.contains(text.lowercased())
    }
}

extension Unicode.Scalar {
    /// The character as an escape of a double-quoted scalar. YAML has no pairs of surrogates.
    fileprivate var yamlEscape: String {
        guard value > 0xFFFF else { return jsonEscape }
        let digits = String(value, radix: 16)
        return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}
