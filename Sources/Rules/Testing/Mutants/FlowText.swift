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

    /// A string in quotes.
    static func quoted(_ text: String) -> String {
        var json: [UInt8] = []
        json.appendJSONString(text.utf8)
        return String(decoding: json, as: UTF8.self)
    }

    /// A string, in quotes unless it is a plain word.
    private static func text(_ string: String?, or json: some Collection<UInt8>) -> String {
        guard let string else { return String(decoding: json, as: UTF8.self) }
        if isPlain(string) { return string }
        // YAML knows no pairs of surrogates, with which JSON may escape a character.
        return string.unicodeScalars.allSatisfy(isPrintable) ? quoted(string) : String(decoding: json, as: UTF8.self)
    }

    /// Whether a character may be in a YAML file, or has its own escape in JSON.
    ///
    /// - Note: Source: YAML 1.2.2, production `c-printable`.
    private static func isPrintable(_ character: Unicode.Scalar) -> Bool {
        switch character.value {
        case 0..<0x7F, 0x85, 0xA0..<0xFEFF, 0xFF00...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }

    private static let words: Set<String> = ["null", "true", "false", "yes", "no", "on", "off"]

    private static func isPlain(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_.\/-]*/) != nil && !words.contains(text.lowercased())
    }
}
