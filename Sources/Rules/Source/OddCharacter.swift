internal import LosslessJSON

/// A character of a rule file that is invisible, or looks like a character of the syntax. Copied text often has such.
struct OddCharacter: Equatable {
    let character: Unicode.Scalar
    let position: SourcePosition

    /// `U+00A0, a no-break space`
    static func name(of character: Unicode.Scalar) -> String {
        let digits = String(character.value, radix: 16, uppercase: true)
        let code = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return "\(code), \(Self.kind(of: character))"
    }

    private static func kind(of character: Unicode.Scalar) -> String {
        switch character {
        case "\u{A0}", "\u{202F}": "a no-break space"
        case "\u{200B}", "\u{200C}", "\u{200D}", "\u{2060}": "an invisible character"
        case "\u{FEFF}": "a byte order mark"
        case _ where typographicQuotes.contains(character): "a typographic quote"
        case _ where lookalikes[character] != nil: "which looks like '\(lookalikes[character] ?? "")'"
        case _ where character.properties.isWhitespace: "a special space"
        case _ where character.value < 0x20 || (0x7F...0x9F).contains(character.value): "a control character"
        default: "an invisible character"
        }
    }

    private static let typographicQuotes = Set("“”„‟‘’‚‛«»‹›".unicodeScalars)
    private static let lookalikes: [Unicode.Scalar: String] = [
        "：": ":", "，": ",", "｛": "{", "｝": "}", "［": "[", "］": "]", "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-",
    ]

    /// What to write instead.
    static func remedy(for character: Unicode.Scalar) -> String {
        if typographicQuotes.contains(character) { return "write a straight quote" }
        if let other = lookalikes[character] { return "write '\(other)'" }
        return character.properties.isWhitespace && character != "\u{FEFF}" ? "write a normal space" : "remove it"
    }

    /// Follows a message about `line`.
    func advice(on line: Int) -> String {
        let place = line == position.line ? "" : "line \(position.line), "
        return "\(place)column \(position.column) has \(Self.name(of: character)): \(Self.remedy(for: character))"
    }

    /// Whether a character has no glyph, or is a space other than the ASCII one.
    static func isInvisible(_ character: Unicode.Scalar) -> Bool {
        !character.isASCII && (!character.isVisible || character.properties.isWhitespace)
    }

    /// The first character that the YAML parser refuses. Nil if there is none.
    static func firstRefused(in text: String) -> OddCharacter? {
        var position = SourcePosition.start
        for character in text.unicodeScalars {
            let isRefused =
                switch character.value {
                case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD,
                    0x10000...0x10FFFF:
                    false
                default: true
                }
            if isRefused { return OddCharacter(character: character, position: position) }
            position.column += 1
            if character == "\n" { position = SourcePosition(line: position.line + 1, column: 1) }
        }
        return nil
    }
}

/// The first odd character of each line, outside of quotes and comments.
struct OddCharacters {
    private var byLine: [Int: OddCharacter] = [:]

    static let none = OddCharacters(in: "")

    init(in text: String) {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return }
        let lines = text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }
        for (index, line) in lines.enumerated() where line.contains(where: { !$0.isASCII }) {
            byLine[index + 1] = Self.first(in: Array(line), number: index + 1)
        }
    }

    private static func first(in line: [Unicode.Scalar], number: Int) -> OddCharacter? {
        var quote: Unicode.Scalar?
        /// The last character that is not a space.
        var last: Unicode.Scalar?
        for (index, character) in line.enumerated() {
            if quote != nil {
                if character == quote { quote = nil }
                continue
            }
            let before = index > 0 ? line[index - 1] : " "
            if character == "#", before == " " { return nil }
            if character == "\"" || character == "'", " {[,:".unicodeScalars.contains(before) { quote = character }
            if isOdd(character, after: last) {
                return OddCharacter(character: character, position: SourcePosition(line: number, column: index + 1))
            }
            if character != " " { last = character }
        }
        return nil
    }

    /// Quotes and dashes within text are not odd.
    ///
    /// - Parameter last: The last character before it that is not a space. Nil at the beginning of the line.
    private static func isOdd(_ character: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        if OddCharacter.isInvisible(character) { return true }
        guard OddCharacter.looksLikeSyntax(character) else { return false }
        if "：，｛｝［］".unicodeScalars.contains(character) { return last?.isASCII ?? true }
        return last.map { ":{[,-".unicodeScalars.contains($0) } ?? true
    }

    /// - Parameter searchesBack: Whether the mistake may be on an earlier line.
    func nearest(to line: Int, searchesBack: Bool) -> OddCharacter? {
        byLine[line] ?? (searchesBack ? byLine.keys.filter { $0 < line }.max().flatMap { byLine[$0] } : nil)
    }
}

extension OddCharacter {
    fileprivate static func looksLikeSyntax(_ character: Unicode.Scalar) -> Bool {
        typographicQuotes.contains(character) || lookalikes[character] != nil
    }

    /// The index of the first invisible character or look-alike of a jq program, outside of its strings and comments.
    static func index(in tokens: ProgramTokens) -> Int? {
        var start = 0
        for range in tokens.ranges + [tokens.scalars.count..<tokens.scalars.count] {
            let isText = range.first.map { tokens.scalars[$0] == "\"" } ?? true
            // Comments and white space are not tokens.
            let between = tokens.scalars[start..<range.lowerBound].prefix { $0 != "#" }
            for index in Array(between.indices) + (isText ? [] : Array(range)) {
                let character = tokens.scalars[index]
                if isInvisible(character) || lookalikes[character] != nil { return index }
            }
            start = range.upperBound
        }
        return nil
    }
}
