/// The structure of a regular expression, as far as the checks need it.
///
/// - Note: Source: pcre2pattern(3). For patterns that PCRE2 has compiled.
struct PatternOutline {
    /// An item that one quantifier applies to.
    struct Part {
        enum Kind {
            case character(Unicode.Scalar)
            /// `.`
            case anyByte
            case characterClass(hasNonASCII: Bool)
            /// The alternatives. An atomic group is never retried.
            case group([[Part]], isAtomic: Bool)
            /// `^`
            case start
            /// `$`
            case end
            /// Escapes, assertions, references: irrelevant here.
            case other
        }

        var kind: Kind
        var minimum = 1
        /// `*`, `+`, `{2,}`.
        var isUnbounded = false
        /// Followed by `?`, `*`, `+` or braces.
        var isQuantified = false
        /// The quantifier never backtracks: `a++`.
        var isPossessive = false
    }

    /// The parts between the `|` at the top level.
    private(set) var alternatives: [[Part]] = []
    /// Whether `(?i)` or similar occurs anywhere.
    private(set) var foldsCase = false
    /// Begins with `(*UTF)`: the pattern matches characters, not bytes.
    private(set) var isUTF = false

    private var rest: Substring.UnicodeScalarView

    /// Nil for patterns in which white space is ignored (`(?x)`).
    init?(_ pattern: String) {
        isUTF = pattern.hasPrefix("(*UTF")
        rest = Substring(pattern).unicodeScalars
        var isFree = false
        alternatives = readAlternatives(&isFree)
        // Otherwise the pattern was not read to its end.
        guard rest.isEmpty, !isFree else { return nil }
    }

    /// Reads to the end, or to the parenthesis that closes the group. Recurses as deep as PCRE2 nests groups (250).
    private mutating func readAlternatives(_ isFree: inout Bool) -> [[Part]] {
        var alternatives: [[Part]] = [[]]
        while let character = rest.first, character != ")" {
            rest.removeFirst()
            if character == "|" {
                alternatives.append([])
                continue
            }
            for kind in readKinds(character, &isFree) {
                alternatives[alternatives.count - 1].append(Part(kind: kind))
            }
            readQuantifier(into: &alternatives[alternatives.count - 1])
        }
        return alternatives
    }

    /// Reads what begins with `character`: one part, none (a comment, flags), or several (`\Q…\E`).
    private mutating func readKinds(_ character: Unicode.Scalar, _ isFree: inout Bool) -> [Part.Kind] {
        switch character {
        case "\\": return readEscape()
        case "[": return [readClass()]
        case "(": return readGroup(&isFree).map { [$0] } ?? []
        case ".": return [.anyByte]
        case "^": return [.start]
        case "$": return [.end]
        default: return [.character(character)]
        }
    }

    private mutating func readEscape() -> [Part.Kind] {
        guard let character = rest.popFirst() else { return [] }
        if character == "Q" {
            var quoted: [Part.Kind] = []
            while let next = rest.popFirst() {
                if next == "\\", rest.first == "E" {
                    rest.removeFirst()
                    break
                }
                quoted.append(.character(next))
            }
            return quoted
        }
        if "xpPogkN".unicodeScalars.contains(character), let closing = Self.closing(rest.first) {
            skip(through: closing)
        }
        let isWord = ("a"..."z").contains(character) || ("A"..."Z").contains(character)
        return [isWord || ("0"..."9").contains(character) ? .other : .character(character)]
    }

    private static func closing(_ opening: Unicode.Scalar?) -> Unicode.Scalar? {
        switch opening {
        case "{": "}"
        case "<": ">"
        case "'": "'"
        default: nil
        }
    }

    private mutating func skip(through closing: Unicode.Scalar) {
        _ = rest.popFirst()
        while let next = rest.popFirst(), next != closing {}
    }

    private mutating func readClass() -> Part.Kind {
        if rest.first == "^" { rest.removeFirst() }
        var hasNonASCII = false
        var isFirst = true
        while let character = rest.popFirst(), character != "]" || isFirst {
            isFirst = false
            hasNonASCII = hasNonASCII || !character.isASCII
            if character == "\\" { _ = rest.popFirst() }
            if character == "[", let mark = rest.first, ":.=".unicodeScalars.contains(mark) { skipNamedClass(mark) }
        }
        return .characterClass(hasNonASCII: hasNonASCII)
    }

    /// `[:alpha:]`; not `[:x]`, which is a class of two characters.
    private mutating func skipNamedClass(_ mark: Unicode.Scalar) {
        guard let end = rest.firstIndex(of: "]"), end > rest.startIndex else { return }
        let before = rest.index(before: end)
        if before > rest.startIndex, rest[before] == mark { rest = rest[rest.index(after: end)...] }
    }
}

// MARK: - Groups and quantifiers

extension PatternOutline {
    /// Reads a group after its opening parenthesis. Nil for comments, verbs and flags, which are not parts.
    private mutating func readGroup(_ isFree: inout Bool) -> Part.Kind? {
        if rest.first == "*" {
            skip(through: ")")
            return nil
        }
        guard rest.first == "?" else { return finishGroup(&isFree, isAtomic: false) }
        rest.removeFirst()
        switch rest.first {
        case "#":
            skip(through: ")")
            return nil
        case ":", "|": rest.removeFirst()
        case ">":
            rest.removeFirst()
            return finishGroup(&isFree, isAtomic: true)
        case "=", "!":
            rest.removeFirst()
            return finishAssertion(&isFree)
        case "(":
            // The condition of `(?(1)yes|no)`.
            rest.removeFirst()
            _ = finishGroup(&isFree, isAtomic: false)
        case "<", "P", "'": return readNamedGroup(&isFree)
        case "R", "&", "+", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
            skip(through: ")")
            return .other
        default: return readFlags(&isFree)
        }
        return finishGroup(&isFree, isAtomic: false)
    }

    private mutating func finishGroup(_ isFree: inout Bool, isAtomic: Bool) -> Part.Kind {
        let alternatives = readAlternatives(&isFree)
        _ = rest.popFirst()
        return .group(alternatives, isAtomic: isAtomic)
    }

    private mutating func finishAssertion(_ isFree: inout Bool) -> Part.Kind {
        _ = finishGroup(&isFree, isAtomic: true)
        return .other
    }

    /// `(?<name>…)`, `(?P<name>…)`, `(?'name'…)`, but also `(?<=…)`, `(?P>name)` and `(?P=name)`.
    private mutating func readNamedGroup(_ isFree: inout Bool) -> Part.Kind {
        if rest.first == "P" { rest.removeFirst() }
        if rest.first == ">" || rest.first == "=" {
            skip(through: ")")
            return .other
        }
        let isQuoted = rest.first == "'"
        let second = rest.dropFirst().first
        if !isQuoted, second == "=" || second == "!" {
            rest = rest.dropFirst(2)
            return finishAssertion(&isFree)
        }
        skip(through: isQuoted ? "'" : ">")
        return finishGroup(&isFree, isAtomic: false)
    }

    /// `(?i)`, `(?i:…)`.
    private mutating func readFlags(_ isFree: inout Bool) -> Part.Kind? {
        var isOn = true
        while let flag = rest.popFirst() {
            switch flag {
            case "-": isOn = false
            case "i": foldsCase = foldsCase || isOn
            case "x": isFree = isFree || isOn
            case ":": return finishGroup(&isFree, isAtomic: false)
            case ")": return nil
            default: break
            }
        }
        return nil
    }

    private mutating func readQuantifier(into parts: inout [Part]) {
        guard !parts.isEmpty, let (minimum, isUnbounded) = takeQuantifier() else { return }
        let isPossessive = rest.first == "+"
        if isPossessive || rest.first == "?" { rest.removeFirst() }
        parts[parts.count - 1].minimum = minimum
        parts[parts.count - 1].isUnbounded = isUnbounded
        parts[parts.count - 1].isPossessive = isPossessive
        parts[parts.count - 1].isQuantified = true
    }

    private mutating func takeQuantifier() -> (minimum: Int, isUnbounded: Bool)? {
        switch rest.first {
        case "*", "+":
            return (rest.removeFirst() == "*" ? 0 : 1, true)
        case "?":
            rest.removeFirst()
            return (0, false)
        case "{": break
        default: return nil
        }
        // Other braces are literal.
        guard let end = rest.firstIndex(of: "}") else { return nil }
        let numbers = String(rest[..<end].dropFirst()).split(separator: ",", omittingEmptySubsequences: false)
        guard let minimum = numbers.first.flatMap({ Int($0) }), numbers.count <= 2 else { return nil }
        if numbers.count == 2, !numbers[1].isEmpty, Int(numbers[1]) == nil { return nil }
        rest = rest[rest.index(after: end)...]
        return (minimum, numbers.count == 2 && numbers[1].isEmpty)
    }
}
