/// The tokens of a jq program, for locating errors.
struct ProgramTokens {
    /// Ranges in ``scalars``, in order, without white space and comments.
    private(set) var ranges: [Range<Int>] = []
    let scalars: [Unicode.Scalar]

    init(_ program: String) {
        scalars = Array(program.unicodeScalars)
        var at = 0
        while at < scalars.count {
            let end = Self.end(ofToken: at, in: scalars)
            let isSpace = scalars[at].properties.isWhitespace || scalars[at] == "#"
            if !isSpace { ranges.append(at..<end) }
            at = end
        }
    }

    func text(_ index: Int) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars[ranges[index]])
        return text
    }

    /// The program up to the end of a token.
    func prefix(through index: Int) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars[..<ranges[index].upperBound])
        return text
    }

    /// The unclosed brackets and `if`s at the end of the program, innermost last. Ignores unmatched closing brackets.
    var open: [String] {
        let closing = [")": "(", "]": "[", "}": "{", "end": "if"]
        var open: [String] = []
        for index in ranges.indices {
            let text = text(index)
            if closing.values.contains(text) { open.append(text) }
            if let opening = closing[text], open.last == opening { open.removeLast() }
        }
        return open
    }

    /// All tokens as text.
    var texts: [String] { ranges.indices.map(text) }

    /// The programs inside the strings of this one, `"\(PROGRAM)"`, at any depth.
    var interpolations: [String] {
        ranges.filter { scalars[$0.lowerBound] == "\"" }.flatMap { range -> [String] in
            var found: [String] = []
            var at = range.lowerBound + 1
            while at + 1 < range.upperBound {
                guard scalars[at] == "\\" else {
                    at += 1
                    continue
                }
                guard scalars[at + 1] == "(" else {
                    at += 2
                    continue
                }
                let end = Self.endOfGroup(at + 2, in: scalars)
                var program = ""
                program.unicodeScalars.append(contentsOf: scalars[(at + 2)..<max(at + 2, end - 1)])
                found += [program] + ProgramTokens(program).interpolations
                at = end
            }
            return found
        }
    }

    private static func end(ofToken start: Int, in scalars: [Unicode.Scalar]) -> Int {
        func end(while isPart: (Unicode.Scalar) -> Bool) -> Int {
            scalars[(start + 1)...].firstIndex { !isPart($0) } ?? scalars.count
        }
        switch scalars[start] {
        case "\"": return endOfText(start, in: scalars)
        case "#": return end { $0 != "\n" }
        case let scalar where scalar.properties.isWhitespace: return end { $0.properties.isWhitespace }
        case let scalar where isPartOfName(scalar) || [".", "$", "@"].contains(scalar): return end(while: isPartOfName)
        case let scalar where isOperator(scalar): return end(while: isOperator)
        default: return start + 1
        }
    }

    /// The end of a string, including its interpolations: `"a\(.b + "c")d"`.
    private static func endOfText(_ start: Int, in scalars: [Unicode.Scalar]) -> Int {
        var at = start + 1
        while at < scalars.count {
            switch scalars[at] {
            case "\"": return at + 1
            case "\\" where at + 1 < scalars.count && scalars[at + 1] == "(": at = endOfGroup(at + 2, in: scalars)
            case "\\": at += 2
            default: at += 1
            }
        }
        return scalars.count
    }

    /// The index after the parenthesis that closes the group, or the end of the text.
    ///
    /// - Parameter start: The index after the opening parenthesis.
    static func endOfGroup(_ start: Int, in scalars: [Unicode.Scalar]) -> Int {
        var at = start
        while at < scalars.count {
            switch scalars[at] {
            case ")": return at + 1
            case "(": at = endOfGroup(at + 1, in: scalars)
            case "\"": at = endOfText(at, in: scalars)
            default: at += 1
            }
        }
        return scalars.count
    }

    private static func isPartOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }

    private static func isOperator(_ scalar: Unicode.Scalar) -> Bool { "=!<>/|&+*%?".unicodeScalars.contains(scalar) }
}
