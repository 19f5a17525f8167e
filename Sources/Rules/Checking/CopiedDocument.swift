/// Finds programs whose result is the changed document with its `_id` and `_rev`, which `put` can't write as another
/// document. Only certain cases.
struct CopiedDocument {
    /// The members of the gateway that the result certainly has.
    private(set) var members: Set<String> = ["_id", "_rev"]

    /// Functions and operators whose effect is not followed.
    private static let unclear: Set<String> = ["def", "reduce", "foreach", "as", "if", "try", "label", "//", "?//"]

    init(_ program: String) {
        let tokens = ProgramTokens(program).texts
        for stage in Self.stages(tokens) { apply(stage[...]) }
    }

    /// The parts between `|`, without those in brackets.
    private static func stages(_ tokens: [String]) -> [[String]] {
        var stages: [[String]] = [[]]
        var depth = 0
        for token in tokens {
            if ["(", "[", "{"].contains(token) { depth += 1 }
            if [")", "]", "}"].contains(token) { depth -= 1 }
            if token == "|", depth == 0 { stages.append([]) } else { stages[stages.count - 1].append(token) }
        }
        return stages
    }

    private mutating func apply(_ stage: ArraySlice<String>) {
        if stage.elementsEqual(["."]) { return }
        guard let first = stage.first, Self.unclear.isDisjoint(with: stage) else {
            members = []
            return
        }
        let second = stage.dropFirst().first
        if first == "del", second == "(", stage.last == ")", stage.count(where: { $0 == "(" }) == 1 {
            for name in ["_id", "_rev"] where stage.contains(".\(name)") || stage.contains("\"\(name)\"") {
                members.remove(name)
            }
        } else if first == ".", second == "+" || second == "*", Self.isOneValue(stage) {
            if Self.setsID(stage) { members.remove("_id") }
        } else if first == "{", stage.last == ".", let before = stage.dropLast().last, ["+", "*"].contains(before) {
            return
        } else if first.hasPrefix("."), first.count > 1, let second, second.hasSuffix("="), second != "==",
            Self.isOneValue(stage)
        {
            if first == "._id" { members.remove("_id") }
        } else {
            members = []
        }
    }

    /// Whether no comma outside of brackets makes several results.
    private static func isOneValue(_ stage: ArraySlice<String>) -> Bool {
        var depth = 0
        for token in stage {
            if ["(", "[", "{"].contains(token) { depth += 1 }
            if [")", "]", "}"].contains(token) { depth -= 1 }
            if token == ",", depth == 0 { return false }
        }
        return true
    }

    private static func setsID(_ stage: ArraySlice<String>) -> Bool {
        zip(stage, stage.dropFirst()).contains { ["_id", "\"_id\""].contains($0) && $1 == ":" }
    }

    /// The message for the document of a `put`. Nil if the program is not a certain mistake.
    ///
    /// - Parameters:
    ///   - argument: The value of `put`.
    ///   - kind: Documents of a mapping may have a `_rev`.
    static func message(_ argument: SourceNode, _ kind: RuleFileKind) -> ActionWarning? {
        guard let node = argument.member("document")?.member("jq"), let program = node.text else { return nil }
        let kept = CopiedDocument(program).members
        let id = argument.member("id")
        let isSameID = (id?.member("jq")?.text ?? "._id").filter { $0 != " " } == "._id"
        let isMistake = kind == .rules ? kept.contains("_rev") : kept.contains("_id") && id != nil && !isSameID
        guard isMistake else { return nil }
        let names = ["_id", "_rev"].filter { kept.contains($0) && ($0 == "_rev" || id != nil && !isSameID) }
        let shown = names.map { "'\($0)'" }.joined(separator: " and ")
        let removed = ["_id", "_rev", "_attachments"].filter { $0 != "_id" || !isSameID || id == nil }
        let deletion = "del(\(removed.map { ".\($0)" }.joined(separator: ", ")))"
        let isWhole = ProgramTokens(program).texts == ["."]
        let remedy =
            isWhole ? "write { jq: '\(deletion)' }" : "add | \(deletion) to the program"
        return (
            node.position, .program,
            "the result keeps \(shown) of the changed document, so put fails for each document; "
                + (id == nil ? "say which document to write, id: …, and " : "") + remedy
        )
    }
}
