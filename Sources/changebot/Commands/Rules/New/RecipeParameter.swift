internal import LosslessJSON
internal import Rules

/// A value that the user chooses when a rule file is made from a recipe.
struct RecipeParameter {
    /// What kind of value it takes. The recipe's own value shows it.
    enum Kind {
        /// A whole number.
        case number
        case url
        /// A path relative to the rule file.
        case file
        /// Any text.
        case text
        /// A number, `true` or `false` if it looks so, or else a text.
        case value
        /// The name of a member, which is written in programs and paths too.
        case member
    }

    /// Where a value is written.
    enum Use {
        case text
        case program
        /// Names of rules have only letters, digits and `-`, so that they can be read in logs and on the command line.
        case ruleName
    }

    let name: String
    /// The value in the recipe.
    let value: String
    let explanation: String

    private static let texts = ["type", "child", "name", "prefix"]

    /// - Parameter line: Such as `#   type = product    the type of the documents`. Nil if it has another form.
    init?(line: String) {
        let parts = line.dropFirst().split(separator: " ", maxSplits: 3)
        guard parts.count == 4, parts[1] == "=" else { return nil }
        name = String(parts[0])
        value = String(parts[2])
        explanation = String(parts[3].drop { $0 == " " })
    }

    var kind: Kind {
        if name == "value" { return .value }
        if value.allSatisfy(\.isASCIIDigit) { return .number }
        if value.hasPrefix("http") { return .url }
        if value.contains(".") { return .file }
        return Self.texts.contains(name) ? .text : .member
    }

    // MARK: - Replacing

    /// Whether the recipe's value is next in a text, as a whole word.
    ///
    /// - Parameter previous: The character before.
    func isNext(in text: Substring, after previous: Character?) -> Bool {
        guard text.hasPrefix(value), previous?.isWordCharacter != true else { return false }
        return text.dropFirst(value.count).first?.isWordCharacter != true
    }

    /// A chosen value as a part of a scalar, without the scalar's quotes.
    func written(_ chosen: String, in use: Use) -> String {
        switch (use, kind) {
        case (.ruleName, .member), (.ruleName, .number): chosen
        case (.ruleName, _): Self.word(chosen)
        case (.program, .value): Self.literal(chosen) ?? Self.quoted(chosen)
        // In the programs of recipes, it is inside a string.
        case (.program, .text): String(Self.quoted(chosen).dropFirst().dropLast())
        case (.text, .value): Self.literal(chosen).flatMap { Self.string($0) } ?? chosen
        default: chosen
        }
    }

    /// The value as it is written in YAML if it is no text. Nil: it is a text.
    func literal(_ chosen: String) -> String? {
        switch kind {
        case .number: chosen
        case .value: Self.literal(chosen).map { json in Self.string(json).map(YAMLScalar.quoted) ?? json }
        default: nil
        }
    }

    /// A JSON number, `true`, `false` or string in quotes. Nil for other texts.
    private static func literal(_ chosen: String) -> String? {
        guard let json = try? JSONText(chosen), [.number, .true, .false, .string].contains(json.root.kind) else {
            return nil
        }
        return String(decoding: Array(json.root.bytes).visibleJSON, as: UTF8.self)
    }

    private static func string(_ json: String) -> String? { (try? JSONText(json))?.root.string }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes.visibleJSON, as: UTF8.self)
    }

    /// `Bob's 2 apples` as `Bob-s-2-apples`.
    private static func word(_ text: String) -> String {
        let word = text.split { !$0.isWordCharacter }.joined(separator: "-")
        return word.isEmpty ? "it" : word
    }

    // MARK: - Refusing

    /// Why a value can't be used, with the remedy. Nil: it can.
    func refusal(of value: String) -> String? {
        guard YAMLScalar.canHold(value) else { return "leave out control characters and line breaks" }
        switch kind {
        case .number: return value.isEmpty || !value.allSatisfy(\.isASCIIDigit) ? "write a whole number" : nil
        case .url: return Self.isURL(value) ? nil : "write an address that begins with http:// or https://"
        case .file: return value.isEmpty ? "write the path of a file" : nil
        case .text, .value: return value.isEmpty ? "write at least one character" : nil
        case .member:
            let advice =
                "write the name of a member with letters from a to z, digits and _ only, which does not begin with a "
                + "digit; for another name, use this one and correct the file afterwards"
            return Self.isMember(value) ? nil : advice
        }
    }

    private static func isURL(_ value: String) -> Bool {
        ["http://", "https://"].contains { value.hasPrefix($0) && value.count > $0.count }
            && !value.contains(where: \.isWhitespace)
    }

    private static func isMember(_ value: String) -> Bool {
        guard let first = value.first, first == "_" || first.isASCIILetter else { return false }
        return value.allSatisfy { $0 == "_" || $0.isASCIILetter || $0.isASCIIDigit }
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
    fileprivate var isASCIILetter: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
    fileprivate var isWordCharacter: Bool { isLetter || isNumber || self == "_" }
}
