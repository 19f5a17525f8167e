internal import JQ
internal import LosslessJSON

extension RuleSet {
    /// The jq calls that a rule needs for a document.
    ///
    /// - Parameters:
    ///   - document: The input of the programs.
    ///   - matched: The document for which the rule's selectors held.
    ///   - locals: The values of the programs' additional variables.
    func calls(
        _ programs: [Int], of rule: Rule, document: JSONText, matched: JSONText, _ input: DecisionInput, now: Int,
        edge: Edge? = nil, locals: [(name: String, json: [UInt8])] = [], _ scratch: MatchScratch
    ) -> [JQCall] {
        guard !programs.isEmpty else { return [] }
        let locals = locals + (rule.edges == nil ? [] : (edge ?? .nothing).locals)
        let values = locals.isEmpty ? nil : Self.object(locals)
        let change = input.change(edge: edge?.id(rule: rule.name, of: input.document))
        let match =
            programs.contains { self.programs.useMatch[$0] }
            ? MatchedGroups.json(of: rule.when, in: matched.root, scratch) : Array("{}".utf8)
        return programs.map { program in
            JQCall(
                program: program, document: document, change: change, match: match, now: now,
                locals: self.programs.haveLocals[program] ? values : nil)
        }
    }

    private static func object(_ locals: [(name: String, json: [UInt8])]) -> JSONText? {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, json) in locals { writer.member(name, raw: json) }
        }
        return try? JSONText(writer.bytes)
    }
}

/// The programs' `$match`: the named groups of the regular expressions in a rule's `when`.
enum MatchedGroups {
    /// A JSON object: the matched text for each named group of a pattern that matched, and null for a group that did
    /// not participate. Ignores patterns inside `$not`, `$elemMatch` and the like. If several groups have the same
    /// name, the last one counts.
    static func json(of selector: Selector, in document: JSONValue, _ scratch: MatchScratch) -> [UInt8] {
        var groups: [(name: String, text: [UInt8]?)] = []
        collect(selector, document, scratch, &groups)
        var writer = JSONWriter()
        writer.object { writer in
            var seen: Set<String> = []
            for (name, text) in groups.reversed() where seen.insert(name).inserted {
                writer.name(name)
                if let text { writer.string(String(decoding: text, as: UTF8.self)) } else { writer.null() }
            }
        }
        return writer.bytes
    }

    /// The names of the groups that ``json(of:in:_:)`` can contain.
    static func names(of selector: Selector) -> Set<String> {
        switch selector {
        case .all(let selectors), .any(let selectors):
            selectors.reduce(into: []) { $0.formUnion(names(of: $1)) }
        case .field(_, .regex(let regex)): Set(regex.groupNames)
        case .field, .value, .not, .none: []
        }
    }

    private static func collect(
        _ selector: Selector, _ document: JSONValue, _ scratch: MatchScratch,
        _ groups: inout [(name: String, text: [UInt8]?)]
    ) {
        switch selector {
        case .all(let selectors), .any(let selectors):
            for selector in selectors { collect(selector, document, scratch, &groups) }
        case .field(let path, .regex(let regex)):
            if case .found(let value) = path.lookUp(in: document), let found = regex.namedGroups(in: value, scratch) {
                groups += found
            }
        case .field, .value, .not, .none: break
        }
    }
}
