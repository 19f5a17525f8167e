/// Refuses syntax that Duktape accepts and otto, an ES5 engine, does not: `const`, `**`, object members such as `{a}`,
/// `{m() {}}` and `{[a]: 1}`, and regular expressions with lookaround or backreferences.
///
/// Only these: Duktape itself refuses most newer syntax.
struct LanguageCheck {
    private let text: [UInt8]
    private var at = 0
    private var line = 1
    /// Whether a slash here would begin a regular expression.
    private var expectsValue = true

    /// The line of the first semicolon after the last other token.
    private var lastSemicolon: Int?
    /// Integers that doubles can't represent.
    private var largeNumbers: [Range<Int>] = []
    /// Directives that otto ignores.
    private var strictDirectives: [Range<Int>] = []
    private var structure = LiteralStructure()

    /// The text for Duktape: large numbers are rounded, because Duktape rounds halves up, and `'use strict'` is
    /// removed, because otto ignores it.
    static func checked(_ text: [UInt8]) throws(LanguageError) -> [UInt8] {
        var check = LanguageCheck(text: text)
        while check.at < text.count {
            let start = check.at
            try check.step()
            check.noteToken(from: start)
            try check.noteStructure(from: start)
        }
        if let line = check.lastSemicolon {
            throw LanguageError(message: "Unexpected token ; (the text must end with the function)", line: line)
        }
        return check.rewritten
    }

    private var rewritten: [UInt8] {
        var result = text
        // Of the same length.
        for directive in strictDirectives { result[directive.lowerBound + 4] = UInt8(ascii: "_") }
        for number in largeNumbers.reversed() {
            guard let value = Double(String(decoding: text[number], as: UTF8.self)), value.isFinite else { continue }
            result.replaceSubrange(number, with: Array("\(value)".utf8))
        }
        return result
    }

    private mutating func noteToken(from start: Int) {
        if isSpace(start) { return }
        let first = text[start]
        lastSemicolon = first == UInt8(ascii: ";") ? lastSemicolon ?? line : nil
        noteNumber(start..<min(at, text.count))
    }

    /// Whether the token is white space or a comment.
    private func isSpace(_ start: Int) -> Bool {
        let first = text[start]
        let isComment =
            first == UInt8(ascii: "/") && start + 1 < text.count
            && (text[start + 1] == UInt8(ascii: "/") || text[start + 1] == UInt8(ascii: "*"))
        return [0x20, 0x09, 0x0A, 0x0D].contains(first) || isComment
    }

    private mutating func noteStructure(from start: Int) throws(LanguageError) {
        if isSpace(start) { return }
        let token = text[start..<min(at, text.count)]
        let isString = text[start] == UInt8(ascii: "\"") || text[start] == UInt8(ascii: "'")
        if isString, structure.isAtStatement, token.dropFirst().dropLast().elementsEqual("use strict".utf8) {
            strictDirectives.append(token.indices)
        }
        let isWord = Self.isName(text[start])
        if let unexpected = structure.note(isString || isWord || token.count > 1 ? .value(token) : .sign(text[start])) {
            throw LanguageError(message: "Unexpected token \(unexpected)", line: line)
        }
    }

    /// 2^53 has 16 digits. Octal numbers, fractions and exponents are left unchanged.
    private mutating func noteNumber(_ word: Range<Int>) {
        let digits = text[word]
        guard digits.count >= 16, digits.first != UInt8(ascii: "0"), digits.allSatisfy({ 48...57 ~= $0 }),
            word.lowerBound == 0 || text[word.lowerBound - 1] != UInt8(ascii: "."),
            word.upperBound >= text.count || text[word.upperBound] != UInt8(ascii: ".")
        else { return }
        largeNumbers.append(word)
    }

    private init(text: [UInt8]) { self.text = text }

    private func byte(_ distance: Int = 0) -> UInt8? { at + distance < text.count ? text[at + distance] : nil }

    private mutating func step() throws(LanguageError) {
        let byte = text[at]
        switch byte {
        case UInt8(ascii: "\n"):
            line += 1
            at += 1
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): at += 1
        case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "/"):
            at = text[at...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
        case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"): skipComment()
        case UInt8(ascii: "/") where expectsValue: try expression()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): skipString(byte)
        case _ where Self.isName(byte): try word()
        default: try sign(byte)
        }
    }

    private mutating func skipComment() {
        at += 2
        while at < text.count, !(text[at] == UInt8(ascii: "*") && byte(1) == UInt8(ascii: "/")) {
            if text[at] == UInt8(ascii: "\n") { line += 1 }
            at += 1
        }
        at += 2
    }

    private mutating func skipString(_ quote: UInt8) {
        at += 1
        while at < text.count, text[at] != quote {
            if text[at] == UInt8(ascii: "\\") { at += 1 }
            if at < text.count, text[at] == UInt8(ascii: "\n") { line += 1 }
            at += 1
        }
        at += 1
        expectsValue = false
    }

    private static let beforeValues: Set<String> = [
        "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof",
    ]

    private mutating func word() throws(LanguageError) {
        let start = at
        while at < text.count, Self.isName(text[at]) { at += 1 }
        let word = String(decoding: text[start..<at], as: UTF8.self)
        let isMember = start > 0 && text[start - 1] == UInt8(ascii: ".")
        let next = text[at...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        if word == "const", !isMember, next != UInt8(ascii: ":") {
            throw LanguageError(message: "Unexpected reserved word", line: line)
        }
        expectsValue = !isMember && Self.beforeValues.contains(word)
    }

    private mutating func sign(_ byte: UInt8) throws(LanguageError) {
        if byte == UInt8(ascii: "*"), self.byte(1) == byte {
            throw LanguageError(message: "Unexpected token *", line: line)
        }
        at += 1
        expectsValue = byte != UInt8(ascii: ")") && byte != UInt8(ascii: "]") && byte != UInt8(ascii: "}")
    }

    private mutating func expression() throws(LanguageError) {
        at += 1
        var isInClass = false
        while let byte = byte(), byte != UInt8(ascii: "\n"), isInClass || byte != UInt8(ascii: "/") {
            let next = self.byte(1) ?? 0
            switch byte {
            case UInt8(ascii: "\\"):
                if !isInClass, UInt8(ascii: "1")...UInt8(ascii: "9") ~= next {
                    try refuse("\\\(next - 48)", "backreference")
                }
                at += 1
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: "(") where !isInClass && next == UInt8(ascii: "?"):
                let kind = self.byte(2) ?? 0
                if kind == UInt8(ascii: "=") || kind == UInt8(ascii: "!") {
                    try refuse("(?\(Character(Unicode.Scalar(kind))))", "lookahead")
                }
            default: break
            }
            at += 1
        }
        at += 1
        expectsValue = false
    }

    private func refuse(_ text: String, _ what: String) throws(LanguageError) -> Never {
        throw LanguageError(message: "Invalid regular expression: re2: Invalid \(text) <\(what)>", line: line)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}

/// Syntax that otto does not accept.
struct LanguageError: Error {
    let message: String
    /// From 1.
    let line: Int
}
