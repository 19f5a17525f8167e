/// An object of a rule file, read key by key. Unknown keys are errors.
struct SourceObject {
    let position: SourcePosition
    let errors: SourceErrors
    private let members: [String: SourceNode.Member]

    /// Nil, with an error, if `node` is not an object. Keys outside `known` are also errors, but the other keys can be
    /// read.
    ///
    /// - Parameters:
    ///   - what: The description of the object for messages: "a rule".
    ///   - places: What to do about keys that belong elsewhere, in addition to ``KeyPlace``.
    init?(
        _ node: SourceNode, _ what: String, known: [String], places: [String: String] = [:], errors: SourceErrors
    ) {
        position = node.position
        self.errors = errors
        guard case .object(let members) = node.content else {
            let key = node.text.flatMap { known.contains($0) ? $0 : nil }
            errors.reportKind(
                of: node, "\(what) must be an object with the keys \(known.joined(separator: ", "))",
                remedy: key.map { "write a colon and a value after it: \($0): \($0 == "delete" ? "{}" : "…")" }
                    ?? node.text.flatMap { Self.shorthand(what, $0) } ?? "write one 'key: value' per line")
            return nil
        }
        self.members = Dictionary(members.map { ($0.name, $0) }) { first, _ in first }
        var reported: String?
        for (index, member) in members.enumerated() where !known.contains(member.name) {
            if let owner = Self.emptyOwner(of: index, members, known: known) {
                if reported != owner { errors.report(at: member.position, Self.notIndented(member.name, below: owner)) }
                reported = owner
                continue
            }
            let message =
                member.missingSpace(readAs: "a key without a value")
                ?? Self.unknown(member.name, known: known, places)
            errors.report(at: member.position, message)
        }
    }

    /// The object that was probably meant by a text alone: `webhook: https://example.org`. Nil if it is unknown.
    private static func shorthand(_ what: String, _ text: String) -> String? {
        let shown = DisplayText.plain(text)
        return switch what {
        case "attach" where text.contains("://"): "write attach: { name: image, url: \(shown) }"
        case "attach": "write attach: { name: image, file: \(shown) }"
        case "webhook": "write webhook: { url: \(shown) }"
        case "emit": "write emit: { file: \(shown) }"
        case "'rotate'" where ["hour", "hourly"].contains(text): "write rotate: { every: hour }"
        case "'rotate'" where ["day", "daily"].contains(text): "write rotate: { every: day }"
        case "'rotate'": "write rotate: { size: 100MB } or rotate: { every: day }"
        default: nil
        }
    }

    /// The known key above this one that has no value. This key probably belongs to it, but is not indented enough. Nil
    /// if there is no such key.
    private static func emptyOwner(of index: Int, _ members: [SourceNode.Member], known: [String]) -> String? {
        guard let owner = members[..<index].last(where: { known.contains($0.name) }), owner.value.isNull,
            owner.value.isPlain, owner.position.line < members[index].position.line
        else { return nil }
        return owner.name
    }

    private static func notIndented(_ name: String, below owner: String) -> String {
        "'\(DisplayText.plain(name))' is at the same level as '\(owner)', which is empty; if it belongs to '\(owner)', "
            + "indent it further than '\(owner)'"
    }

    /// Names that other tools use for a key. Those of actions are in the ``ActionRegistry``.
    private static let synonyms = [
        "where": "when", "selector": "when", "match": "when", "filter": "when", "query": "when", "condition": "if",
        "except": "unless", "not": "unless",
        "after": "at", "due": "at", "do": "then", "actions": "then", "action": "then", "id": "name",
        "onError": "on_error",
        "data": "given", "input": "given", "document": "given", "then": "expect",
    ]

    /// The message for a name that is not one of `known`.
    private static func unknown(_ name: String, known: [String], _ places: [String: String]) -> String {
        let synonym = (synonyms[name] ?? ActionRegistry.synonyms[name]).flatMap { known.contains($0) ? $0 : nil }
        if synonym == nil, let message = KeyPlace.message(name, others: places) { return message }
        return "'\(DisplayText.plain(name))' is not known to this version"
            + NearestName.advice(synonym ?? NearestName.of(name, among: known), among: known)
    }

    func node(_ name: String) -> SourceNode? { members[name]?.value }

    /// The value of a required key. Reports an error if it is missing.
    func required(_ name: String, _ remedy: String) -> SourceNode? {
        if let node = node(name) { return node }
        errors.report(at: position, "'\(name)' is missing; \(remedy)")
        return nil
    }

    /// A required, non-empty string.
    func requiredText(_ name: String, _ remedy: String) -> String? {
        required(name, remedy).flatMap { text($0, name) }
    }

    /// An optional string.
    func optionalText(_ name: String) -> String? { node(name).flatMap { text($0, name) } }

    private func text(_ node: SourceNode, _ name: String) -> String? {
        switch node.content {
        case .string(let text) where !text.isEmpty: return text
        case .string: errors.report(at: node.position, "'\(name)' is empty; write some text")
        case .object(let members) where members.first?.name == "jq":
            errors.report(
                at: node.position, "'\(name)' can't be computed by jq in this version; write the value itself")
        default:
            errors.reportKind(of: node, "'\(name)' must be text", remedy: "put it in quotes")
        }
        return nil
    }
}
