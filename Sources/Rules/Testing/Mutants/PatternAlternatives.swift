/// The alternatives of a regular expression: what stands between its `|`.
///
/// - Note: Source: pcre2pattern(3). For patterns that PCRE2 has compiled.
struct PatternAlternatives {
    /// At most this many are left out, one at a time.
    private static let limit = 50

    private let characters: [Character]
    /// For each group with several alternatives, where they are.
    private var groups: [[Range<Int>]] = []

    init(_ pattern: String) {
        characters = Array(pattern)
        // What a condition decides about, `(?(1)yes|no)`, are no alternatives.
        if !pattern.contains("(?(") { read() }
    }

    /// The pattern without one alternative, for each of them, with the text of that alternative.
    var shorter: [(pattern: String, alternative: String)] {
        let all = groups.flatMap { group in
            group.indices.map { index in
                // With the `|` before it, or after the first one.
                let range =
                    index == 0
                    ? group[0].lowerBound..<group[1].lowerBound : group[index - 1].upperBound..<group[index].upperBound
                return (String(characters[..<range.lowerBound] + characters[range.upperBound...]), text(group[index]))
            }
        }
        return Array(all.prefix(Self.limit))
    }

    /// Texts that contain what one alternative matches each. Only those that are easily found.
    var examples: [String] {
        let all = groups.flatMap { group in group.map { choosing($0, of: group) } }
        return all.prefix(Self.limit).compactMap { PatternSample($0)?.text }
    }

    private func text(_ range: Range<Int>) -> String { String(characters[range]) }

    /// The pattern with one alternative of a group, and the first one of every other group.
    private func choosing(_ chosen: Range<Int>, of group: [Range<Int>]) -> [Character] {
        var left = [Bool](repeating: true, count: characters.count)
        for other in groups {
            let kept = other == group ? chosen : other[0]
            for index in other[0].lowerBound..<other[other.count - 1].upperBound where !kept.contains(index) {
                left[index] = false
            }
        }
        return characters.indices.filter { left[$0] }.map { characters[$0] }
    }

    // MARK: - Reading

    private mutating func read() {
        // Leading flags belong to all alternatives.
        let flags = String(characters).prefixMatch(of: /(?:\(\?[a-z]+\)|\(\*[A-Z_]+\))*/)?.0.count ?? 0
        var open: [(start: Int, alternatives: [Range<Int>])] = [(flags, [])]
        var index = flags
        func end(_ level: (start: Int, alternatives: [Range<Int>]), at index: Int) -> [Range<Int>] {
            level.alternatives + [level.start..<index]
        }
        while index < characters.count {
            switch characters[index] {
            case "\\": index = afterEscape(index)
            case "[": index = afterClass(index)
            case "(":
                index = PatternText.afterGroupStart(characters, index)
                open.append((index, []))
            case ")":
                if open.count > 1 {
                    let alternatives = end(open.removeLast(), at: index)
                    if alternatives.count > 1 { groups.append(alternatives) }
                }
                index += 1
            case "|":
                open[open.count - 1] = (index + 1, end(open[open.count - 1], at: index))
                index += 1
            default: index += 1
            }
        }
        let alternatives = end(open[0], at: characters.count)
        if open.count == 1, alternatives.count > 1 { groups.append(alternatives) }
    }

    /// Skips an escape, or everything between `\Q` and `\E`.
    private func afterEscape(_ index: Int) -> Int {
        guard index + 1 < characters.count, characters[index + 1] == "Q" else { return index + 2 }
        var next = index + 2
        while next + 1 < characters.count, !(characters[next] == "\\" && characters[next + 1] == "E") { next += 1 }
        return next + 2
    }

    private func afterClass(_ index: Int) -> Int { PatternText.afterClass(characters, index) }
}

/// Steps through the characters of a pattern.
private enum PatternText {
    /// The index after `(`, `(?:`, `(?<name>` and the like. Of flags, a comment or a verb, the one of its `)`.
    static func afterGroupStart(_ pattern: [Character], _ index: Int) -> Int {
        var next = index + 1
        guard next < pattern.count, pattern[next] == "?" || pattern[next] == "*" else { return next }
        while next < pattern.count, ![":", "=", "!", ">", "|", ")", "#"].contains(pattern[next]) {
            // `(?'name'…)`
            if pattern[next] == "'", let end = pattern[(next + 1)...].firstIndex(of: "'") { return end + 1 }
            next += 1
        }
        guard next < pattern.count else { return next }
        if pattern[next] == "#" { return pattern[next...].firstIndex(of: ")") ?? pattern.count }
        return pattern[next] == ")" ? next : next + 1
    }

    /// The index after the `]` of a class.
    static func afterClass(_ pattern: [Character], _ index: Int) -> Int {
        var next = index + 1
        if next < pattern.count, pattern[next] == "^" { next += 1 }
        // A bracket at the beginning is a member.
        if next < pattern.count, pattern[next] == "]" { next += 1 }
        while next < pattern.count, pattern[next] != "]" {
            let isNamed = pattern[next] == "[" && next + 1 < pattern.count && pattern[next + 1] == ":"
            if isNamed, let end = pattern[next...].firstIndex(of: "]") {
                next = end + 1
            } else {
                next += pattern[next] == "\\" ? 2 : 1
            }
        }
        return next + 1
    }
}

/// A text that a pattern without alternatives probably matches.
private struct PatternSample {
    private(set) var text = ""

    /// Nil if the pattern has something for which no text is made, such as a look-ahead.
    init?(_ pattern: [Character]) {
        var index = 0
        while index < pattern.count {
            let next = index + 1 < pattern.count ? pattern[index + 1] : " "
            switch pattern[index] {
            case "\\":
                guard let text = Self.escapes[next] ?? (next.isLetter || next.isNumber ? nil : String(next)) else {
                    return nil
                }
                self.text += text
                index += 2
            case "(":
                let start = PatternText.afterGroupStart(pattern, index)
                if ["=", "!"].contains(pattern[start - 1]) { return nil }
                index = start
            case "[":
                guard let member = Self.member(of: pattern, index) else { return nil }
                text += member
                index = PatternText.afterClass(pattern, index)
            case "{":
                guard let end = pattern[index...].firstIndex(of: "}"), let last = text.last,
                    let count = Int(String(pattern[(index + 1)..<end].prefix { $0 != "," })), count <= 100
                else { return nil }
                if count > 1 { text += String(repeating: last, count: count - 1) }
                index = end + 1
            case ".":
                text += "x"
                index += 1
            case ")", "^", "$", "?", "*", "+": index += 1
            case let character:
                text.append(character)
                index += 1
            }
        }
    }

    private static let escapes: [Character: String] = [
        "d": "0", "w": "a", "s": " ", "S": "a", "D": "a", "W": " ", "n": "\n", "t": "\t", "r": "\r", "b": "", "A": "",
        "z": "", "Z": "",
    ]

    /// The first member of a class.
    private static func member(of pattern: [Character], _ index: Int) -> String? {
        guard index + 2 < pattern.count else { return nil }
        let first = pattern[index + 1]
        if first == "^" || first == "[" { return nil }
        return first == "\\" ? escapes[pattern[index + 2]] ?? String(pattern[index + 2]) : String(first)
    }
}
