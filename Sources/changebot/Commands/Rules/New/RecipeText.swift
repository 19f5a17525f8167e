internal import LosslessJSON
internal import Rules

/// The YAML of a recipe, in which the values can be replaced.
///
/// A value may be any text. So each scalar that contains one is read, changed, and written again with the quotes that it
/// needs; the rest stays as it is.
struct RecipeText {
    fileprivate struct Part {
        enum Kind { case between, plain, single, double }

        let text: String
        var kind: Kind
        /// Whether it is a jq program.
        var isProgram = false
    }

    private let parts: [Part]
    private let ruleNames: Set<String>

    init(_ yaml: String) {
        var reader = RecipeReader(yaml)
        reader.readAll()
        (parts, ruleNames) = (reader.parts, reader.ruleNames)
    }

    /// Replaces whole words only, each once, so that a new value is never replaced again.
    ///
    /// - Parameter values: By parameter. The other parameters keep their values.
    func replacing(_ values: [String: String], of parameters: [RecipeParameter]) -> String {
        let replaced = parameters.compactMap { parameter in
            values[parameter.name].map { Replacement(parameter: parameter, value: $0) }
        }.sorted { $0.parameter.value.count > $1.parameter.value.count }
        return parts.map { replacing($0, replaced) }.joined()
    }

    private struct Replacement {
        let parameter: RecipeParameter
        let value: String
    }

    private func replacing(_ part: Part, _ replaced: [Replacement]) -> String {
        guard part.kind != .between, let content = part.content else { return part.text }
        let use: RecipeParameter.Use =
            part.isProgram ? .program : ruleNames.contains(content) ? .ruleName : .text
        var result = ""
        var used: [Replacement] = []
        var rest = content[...]
        while let first = rest.first {
            if let found = replaced.first(where: { $0.parameter.isNext(in: rest, after: previous(rest, content)) }) {
                result += found.parameter.written(found.value, in: use)
                used.append(found)
                rest = rest.dropFirst(found.parameter.value.count)
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        guard let first = used.first else { return part.text }
        if part.isProgram {
            let isSimple = part.kind == .plain && used.allSatisfy { [.number, .member].contains($0.parameter.kind) }
            return isSimple ? result : "'" + result.replacing("'", with: "''") + "'"
        }
        let isWhole = used.count == 1 && content == first.parameter.value && part.kind == .plain
        if isWhole, let literal = first.parameter.literal(first.value) { return literal }
        return YAMLScalar.text(result)
    }

    /// The character before the rest.
    private func previous(_ rest: Substring, _ content: String) -> Character? {
        rest.startIndex == content.startIndex ? nil : content[content.index(before: rest.startIndex)]
    }
}

extension RecipeText.Part {
    /// The text without quotes. Nil if it can't be read.
    fileprivate var content: String? {
        switch kind {
        case .between: nil
        case .plain: text
        case .single: String(text.dropFirst().dropLast()).replacing("''", with: "'")
        case .double: (try? JSONText(Array(text.utf8)))?.root.string
        }
    }
}

/// Finds the scalars of a recipe. Recipes are files of this project, so this reads only the YAML that they have.
private struct RecipeReader {
    private(set) var parts: [RecipeText.Part] = []
    private(set) var ruleNames: Set<String> = []
    private let text: String
    private var rest: Substring
    /// The number of open brackets.
    private var depth = 0
    /// The key whose value may follow.
    private var key: String?
    /// The last key at the beginning of a line: `rules` or `tests`.
    private var section = ""

    private static let programs: Set<String> = ["jq", "if", "at"]

    init(_ text: String) { (self.text, rest) = (text, text[...]) }

    mutating func readAll() {
        while let first = rest.first {
            switch first {
            case "#": add(rest.prefix { $0 != "\n" }, .between)
            case "{", "[":
                depth += 1
                readMark()
            case "}", "]":
                depth -= 1
                readMark()
            case ",", "\n": readMark()
            case " ", ":": add(rest.prefix(1), .between)
            case "-" where [" ", "\n"].contains(rest.dropFirst().first): readMark()
            case "'": addScalar(quoted(by: "'"), .single)
            case "\"": addScalar(quoted(by: "\""), .double)
            default: addScalar(plain, .plain)
            }
        }
    }

    private mutating func add(_ piece: Substring, _ kind: RecipeText.Part.Kind) {
        parts.append(RecipeText.Part(text: String(piece), kind: kind))
        rest = rest[piece.endIndex...]
    }

    /// Reads a character after which no value of the last key follows.
    private mutating func readMark() {
        key = nil
        add(rest.prefix(1), .between)
    }

    private mutating func addScalar(_ piece: Substring, _ kind: RecipeText.Part.Kind) {
        let isFirst = piece.startIndex == text.startIndex || text[text.index(before: piece.startIndex)] == "\n"
        add(piece, kind)
        guard let content = parts.last?.content else { return }
        if rest.first == ":" {
            key = content
            if isFirst { section = content }
            return
        }
        if let key, Self.programs.contains(key) { parts[parts.count - 1].isProgram = true }
        if key == "name", depth == 0, section == "rules" { ruleNames.insert(content) }
        key = nil
    }

    private func quoted(by quote: Character) -> Substring {
        var index = rest.index(after: rest.startIndex)
        while index < rest.endIndex {
            let character = rest[index]
            let next = rest.index(after: index)
            if character == "\\", quote == "\"", next < rest.endIndex {
                index = rest.index(after: next)
                continue
            }
            if character == quote {
                guard quote == "'", next < rest.endIndex, rest[next] == quote else { return rest[..<next] }
                index = rest.index(after: next)
                continue
            }
            index = next
        }
        return rest
    }

    private var plain: Substring {
        var end = rest.startIndex
        while end < rest.endIndex {
            let character = rest[end]
            let next = rest[rest.index(after: end)...].first
            if character == "\n" || character == " " && next == "#" { break }
            if character == ":", next == nil || next == " " || next == "\n" { break }
            if depth > 0, ",[]{}".contains(character) { break }
            end = rest.index(after: end)
        }
        var piece = rest[..<end]
        while piece.last == " " { piece.removeLast() }
        return piece
    }
}
