/// A value that the user chooses when a rule file is made from a recipe.
struct RecipeParameter {
    /// What kind of value it takes. The recipe's own value shows it.
    enum Kind {
        /// A whole number.
        case number
        case url
        /// A path relative to the rule file.
        case file
        /// A string that documents have.
        case text
        /// The name of a member.
        case member
    }

    let name: String
    /// The value in the recipe.
    let value: String
    let explanation: String

    private static let texts = ["type", "child", "name", "value", "prefix"]

    /// - Parameter line: Such as `#   type = product    the type of the documents`. Nil if it has another form.
    init?(line: String) {
        let parts = line.dropFirst().split(separator: " ", maxSplits: 3)
        guard parts.count == 4, parts[1] == "=" else { return nil }
        name = String(parts[0])
        value = String(parts[2])
        explanation = String(parts[3].drop { $0 == " " })
    }

    var kind: Kind {
        if value.allSatisfy(\.isASCIIDigit) { return .number }
        if value.hasPrefix("http") { return .url }
        if value.contains(".") { return .file }
        return Self.texts.contains(name) ? .text : .member
    }

    /// Whether the recipe's value is next in a text, as a whole word.
    ///
    /// - Parameter previous: The character before.
    func isNext(in text: Substring, after previous: Character?) -> Bool {
        guard text.hasPrefix(value), previous?.isWordCharacter != true else { return false }
        return text.dropFirst(value.count).first?.isWordCharacter != true
    }

    /// Why a value can't be used, with the remedy. Nil: it can.
    func refusal(of value: String) -> String? {
        switch kind {
        case .number: value.isEmpty || !value.allSatisfy(\.isASCIIDigit) ? "write a whole number" : nil
        case .url: Self.isURL(value) ? nil : "write an address that begins with http:// or https://"
        case .file:
            value.isEmpty || value.contains(where: Self.isSpecial) ? "write a path without spaces and quotes" : nil
        case .member:
            Self.isMember(value) ? nil : "write the name of a member with letters, digits and _ only"
        case .text:
            Self.isText(value) ? nil : "write words of letters, digits, _ and -, and not only a number, true or null"
        }
    }

    private static func isURL(_ value: String) -> Bool {
        ["http://", "https://"].contains { value.hasPrefix($0) && value.count > $0.count }
            && !value.contains(where: isSpecial)
    }

    /// Whether a character has a meaning in YAML or jq, or is invisible.
    private static func isSpecial(_ character: Character) -> Bool {
        character.isWhitespace || "\"'`\\{}[],#$|&*!<>".contains(character)
            || character.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }

    private static func isMember(_ value: String) -> Bool {
        guard let first = value.first, first == "_" || first.isASCIILetter else { return false }
        return value.allSatisfy { $0 == "_" || $0.isASCIILetter || $0.isASCIIDigit }
    }

    private static func isText(_ value: String) -> Bool {
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        guard words.allSatisfy({ word in !word.isEmpty && word.allSatisfy { $0.isWordCharacter || $0 == "-" } }),
            value.contains(where: \.isLetter), value.first != "-"
        else { return false }
        return !["true", "false", "null", "yes", "no", "on", "off"].contains(value.lowercased())
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
    fileprivate var isASCIILetter: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
    fileprivate var isWordCharacter: Bool { isLetter || isNumber || self == "_" }
}
