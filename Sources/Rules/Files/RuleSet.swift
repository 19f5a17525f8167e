internal import Encodings
internal import JQ
internal import LosslessJSON

/// All rules of a run, in their order. Immutable: any number of tasks decide with it, each with its own ``Decider``.
package final class RuleSet: Sendable {
    let rules: [Rule]
    let kind: RuleFileKind
    /// What becomes of documents that no rule of a mapping is for.
    let otherwise: UnmatchedDocuments
    let index: RuleIndex
    let filter: DocumentFilter?
    /// Whether it is only some rules of its files, or only for some documents.
    package let isPartial: Bool
    /// The rules' jq programs, in helper processes that start with the first use. Nil if there are none.
    let jq: JQPool?
    /// For each program whether it reads `$match`.
    let usesMatch: [Bool]

    /// SHA-256, in hexadecimal, of all that the rules' decisions depend on, attached files included. Comments,
    /// formatting, key order and the files' names and places do not change it.
    package let hash: String

    /// - Parameters:
    ///   - programs: The texts that the rules' program indexes mean.
    ///   - bindings: What the programs know by name.
    init(
        _ rules: [Rule], kind: RuleFileKind = .rules, otherwise: UnmatchedDocuments = .pass, programs: [String] = [],
        bindings: [JQBinding] = [], filter: DocumentFilter? = nil, isPartial: Bool = false,
        jq settings: JQPool.Settings = JQPool.Settings()
    ) {
        self.rules = rules
        self.kind = kind
        self.otherwise = otherwise
        self.filter = filter
        self.isPartial = isPartial
        index = RuleIndex(rules)
        jq = programs.isEmpty ? nil : JQPool(programs: programs, bindings: bindings, settings: settings)
        usesMatch = programs.map { $0.contains("$match") }
        var writer = JSONWriter()
        writer.array { writer in
            for rule in rules { writer.raw(rule.canonical) }
            if let filter { writer.raw(filter.canonical) }
            if kind != .rules { writer.string(kind.rawValue) }
            if otherwise != .pass { writer.string(otherwise.rawValue) }
        }
        hash = Digest.sha256.hex(writer.bytes)
    }

    /// One rule of another set, with its programs.
    init(_ rule: Rule, of set: RuleSet) {
        rules = [rule]
        kind = set.kind
        otherwise = .pass
        filter = set.filter
        isPartial = set.isPartial
        index = RuleIndex([rule])
        jq = set.jq
        usesMatch = set.usesMatch
        hash = set.hash
    }

    package var count: Int { rules.count }

    /// Whether any rule writes other documents than the changed one.
    package var mayPut: Bool {
        rules.contains { rule in
            rule.then.contains { action in if case .put = action { true } else { false } }
        }
    }

    /// The keyspaces that rules put documents into, beside the one they are run on. As the files have them.
    package var otherKeyspaces: Set<String> {
        Set(
            rules.flatMap(\.then).compactMap { action in
                if case .put(let put) = action { put.keyspace } else { nil }
            })
    }

    /// The rules' names, unique. A rule's place in this list is its index in a ``Decision``.
    package var names: [String] { rules.map(\.name) }

    /// Whether a rule, by its index, says `on_error: skip`: if it fails, other rules' effects stand.
    package func skipsErrors(of rule: Int) -> Bool { rules[rule].onError == .skip }

    /// What a task decides with. Not to be shared between tasks.
    package func makeDecider() -> Decider { Decider(self) }
}

extension RuleSet {
    /// Reads rule files, and what they attach, from disk. All or nothing. Blocks.
    ///
    /// - Parameter paths: Files, and folders whose `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    /// - Throws: ``RuleFilesError`` with everything that is wrong in any of the files.
    package static func load(paths: [String]) throws(RuleFilesError) -> RuleSet {
        try RuleFileSet.load(paths: paths).ruleSet()
    }
}
