/// Finds regular expressions that compile, but probably mean something unintended.
enum PatternCheck {
    /// The probable mistakes in a pattern, each with its remedy.
    static func messages(_ pattern: String) -> [String] {
        if pattern.isEmpty {
            return [
                "an empty pattern matches every string; write { $type: string } if that is "
                    + "intended"
            ]
        }
        if let inner = undelimited(pattern) {
            return ["the slashes in '\(pattern)' are part of the pattern; write '\(inner)'"]
        }
        guard let outline = PatternOutline(pattern) else { return [] }
        var messages: [String] = []
        if let message = looseAnchor(outline, pattern) { messages.append(message) }
        if let ending = unescapedEnding(pattern) {
            messages.append("the '.' before '\(ending)' matches any character; write '\\.\(ending)'")
        }
        if mayBacktrackExponentially(outline.alternatives) {
            messages.append(
                "a repeat inside a repeat, as in (a+)+, can backtrack too often, and then the document becomes a "
                    + "dead letter; repeat only once")
        }
        if !outline.isUTF, let message = multibyteMistake(outline) { messages.append(message) }
        return messages
    }

    // MARK: - Delimiters

    /// The pattern between the slashes of `/…/i`. A pattern with an anchor inside, after the first or before the last
    /// slash, is no path.
    private static func undelimited(_ pattern: String) -> String? {
        guard pattern.hasPrefix("/"), let slash = pattern.lastIndex(of: "/"), slash > pattern.startIndex else {
            return nil
        }
        let inner = pattern[pattern.index(after: pattern.startIndex)..<slash]
        let flags = pattern[pattern.index(after: slash)...]
        let isAnchored = inner.hasPrefix("^") || inner.hasSuffix("$")
        let isPath = inner.contains("/") && !isAnchored
        guard !inner.isEmpty, !isPath, ["", "g", "i", "gi", "ig", "m", "im", "mi"].contains(flags) else { return nil }
        guard isAnchored || !flags.isEmpty else { return nil }
        return (flags.contains("i") ? "(?i)" : "") + inner
    }

    // MARK: - Anchors

    /// `^one|two$`. Only for words: `^\s|[A-Z]|\s$` is probably intended.
    private static func looseAnchor(_ outline: PatternOutline, _ pattern: String) -> String? {
        let alternatives = outline.alternatives
        guard alternatives.count > 1, !pattern.contains("\\"), !pattern.contains("[") else { return nil }
        let starts = alternatives.map { if case .start? = $0.first?.kind { true } else { false } }
        let ends = alternatives.map { if case .end? = $0.last?.kind { true } else { false } }
        let last = alternatives.count - 1
        let isStartUnanchored = starts[0] && !ends[0] && starts.contains(false)
        let isEndUnanchored = ends[last] && !starts[last] && ends.contains(false)
        guard isStartUnanchored || isEndUnanchored, !anchorsBothEnds(pattern) else { return nil }
        let what =
            switch (isStartUnanchored, isEndUnanchored) {
            case (true, true): "'^' applies only to the first alternative, '$' only to the last"
            case (true, false): "'^' applies only to the first alternative"
            default: "'$' applies only to the last alternative"
            }
        return what + "; put parentheses around them: ^(one|two)$"
    }

    private static func anchorsBothEnds(_ pattern: String) -> Bool {
        let parts = pattern.split(separator: "|")
        return parts.count == 2 && parts[0].first == "^" && parts[1].last == "$"
            && parts[0].dropFirst() == parts[1].dropLast()
    }

    // MARK: - Endings

    /// A file extension after an unescaped '.': `.png$`, `.(png|jpg)$`.
    private static func unescapedEnding(_ pattern: String) -> String? {
        let bytes = Array(pattern.utf8)
        var isEscaped = false
        var isInClass = false
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: ".") where !isInClass:
                if let ending = ending(at: bytes[(index + 1)...]) { return ending }
            default: break
            }
        }
        return nil
    }

    private static func ending(at bytes: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: bytes.prefix(16), as: UTF8.self)
        let isGroup = text.hasPrefix("(")
        let name = text.drop { "(?:".contains($0) }.prefix { $0.isLetter || $0.isNumber }
        guard FileEnding.common.contains(name.lowercased()) else { return nil }
        return isGroup ? "(\(name)…)" : String(name)
    }

    // MARK: - Repetitions

    private static func mayBacktrackExponentially(_ alternatives: [[PatternOutline.Part]]) -> Bool {
        alternatives.joined().contains { part in
            guard case .group(let inner, let isAtomic) = part.kind else { return false }
            let isRepeated = part.isUnbounded && !part.isPossessive && !isAtomic
            return isRepeated && inner.contains(where: isAllRepeated) || mayBacktrackExponentially(inner)
        }
    }

    /// Whether the parts are one part of unlimited length and otherwise optional parts.
    private static func isAllRepeated(_ parts: [PatternOutline.Part]) -> Bool {
        let repeated = parts.filter { $0.isUnbounded && !$0.isPossessive }
        let needed = parts.filter { $0.minimum > 0 }
        guard let only = needed.first else { return !repeated.isEmpty }
        return needed.count == 1 && only.isUnbounded && !only.isPossessive
    }

    // MARK: - Bytes

    /// Where the pattern does not treat a multi-byte character as one character.
    private static func multibyteMistake(_ outline: PatternOutline) -> String? {
        let parts = flattened(outline.alternatives)
        let hasNonASCII = parts.contains { $0.isNonASCII }
        guard hasNonASCII else { return nil }
        let about = "patterns match bytes of UTF-8, and a non-ASCII character has several bytes: "
        for part in parts {
            switch part.kind {
            case .characterClass(hasNonASCII: true):
                return about + "a class […] matches only one of them; write alternatives: (é|è)"
            case .character(let character) where !character.isASCII && part.isQuantified:
                return about + "a quantifier repeats only the last one; write (?:\(character)) before it"
            case .character(let character) where outline.foldsCase && character.hasCase:
                return about + "(?i) has no effect on them; write both: (\(character.otherCases))"
            case .anyByte where !part.isUnbounded: return about + "'.' matches only one of them; write '.+' or '.*'"
            default: break
            }
        }
        return nil
    }

    private static func flattened(_ alternatives: [[PatternOutline.Part]]) -> [PatternOutline.Part] {
        alternatives.joined().flatMap { part in
            if case .group(let inner, _) = part.kind { flattened(inner) } else { [part] }
        }
    }
}

extension PatternOutline.Part {
    fileprivate var isNonASCII: Bool {
        switch kind {
        case .character(let character): !character.isASCII
        case .characterClass(let hasNonASCII): hasNonASCII
        case .anyByte, .group, .start, .end, .other: false
        }
    }
}

extension Unicode.Scalar {
    fileprivate var hasCase: Bool {
        !isASCII && properties.lowercaseMapping != properties.uppercaseMapping
    }

    /// `é|É`.
    fileprivate var otherCases: String { "\(properties.lowercaseMapping)|\(properties.uppercaseMapping)" }
}
