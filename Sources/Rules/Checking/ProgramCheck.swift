/// Finds words in jq programs that behave differently here than elsewhere.
enum ProgramCheck {
    static func messages(_ program: String) -> [String] {
        let words = ProgramIdentifiers(program).words
        var messages: [String] = []
        if !words.isDisjoint(with: ["$ENV", "env"]) {
            messages.append(
                "programs can't read the environment, and an attempt makes the document a dead letter; remove it")
        }
        if !words.isDisjoint(with: ["input", "inputs", "input_filename", "input_line_number"]) {
            messages.append("programs get one document, '.', and no other input; remove it")
        }
        if words.contains(where: { $0.count > 15 && $0.allSatisfy(\.isNumber) }) {
            messages.append("the program has a number with more digits than jq can hold exactly; compare it as text")
        }
        if words.contains("now") {
            messages.append("'now' is the same as $now here; write $now, which tests and --now can set")
        }
        if !words.isDisjoint(with: ["halt", "halt_error"]) {
            messages.append("'halt' makes the document a dead letter; use empty to do nothing")
        }
        for text in ProgramTokens(program).texts where text.hasPrefix("\"") && text.contains("{") {
            guard let match = text.firstMatch(of: /\$?\{\{?\s*(\.[A-Za-z_][\w.]*)\s*\}\}?/) else { continue }
            messages.append(
                "'\(match.0)' in a string of a program is not filled in; write \\(\(match.1))")
        }
        return messages
    }
}

/// The names in a jq program outside strings and comments, except fields (`.env`) and member names (`env:`).
struct ProgramIdentifiers {
    private enum Place { case code, string, escape, comment }

    private(set) var words: Set<String> = []
    private var word = ""
    /// The character before ``word``.
    private var before: Character = " "
    private var place = Place.code

    init(_ program: String) {
        for character in program { take(character) }
        take("\n")
    }

    private mutating func take(_ character: Character) {
        switch place {
        case .string: place = character == "\\" ? .escape : character == "\"" ? .code : .string
        case .escape: place = .string
        case .comment: if character == "\n" { place = .code }
        case .code: takeCode(character)
        }
    }

    private mutating func takeCode(_ character: Character) {
        if character == "$" || character == "_" || character.isASCII && (character.isLetter || character.isNumber) {
            word.append(character)
            return
        }
        if !word.isEmpty, before != ".", character != ":" { words.insert(word) }
        word = ""
        before = character
        if character == "\"" { place = .string } else if character == "#" { place = .comment }
    }
}
