internal import Encodings
internal import JQ
internal import LosslessJSON

/// All rules of a run, in order. Immutable: any number of tasks can use it, each with its own ``Decider``.
package final class RuleSet: Sendable {
    let rules: [Rule]
    let kind: RuleFileKind
    /// What happens to documents on which no rule of a mapping fires.
    let otherwise: UnmatchedDocuments
    let index: RuleIndex
    let filter: DocumentFilter?
    /// Whether it contains only some rules of its files, or is only for some documents.
    package let isPartial: Bool
    /// Runs the jq programs of the rules, in helper processes that start on first use. Nil if there are none.
    let jq: JQPool?
    /// For each program, whether it reads `$match`.
    let usesMatch: [Bool]
    /// For each program, whether it has variables besides the common ones.
    let hasLocals: [Bool]
    /// For each rule, whether its selectors name `_exp`.
    let looksAtExpiry: [Bool]
    /// Whether the rules are tried once, and not until nothing changes any more.
    let hasOnePass: Bool
    /// The rules with `aggregate`, in order.
    package let aggregates: [AggregateRule]

    /// SHA-256, in lowercase hexadecimal, of all that the rules' decisions depend on, attached files included.
    /// Comments, formatting, key order, file names and paths do not affect it.
    package let hash: String

    /// - Parameters:
    ///   - programs: The texts behind the program indexes of the rules.
    ///   - bindings: The variables of all programs.
    init(
        _ rules: [Rule], kind: RuleFileKind = .rules, otherwise: UnmatchedDocuments = .pass, programs: [JQProgram] = [],
        bindings: [JQBinding] = [], filter: DocumentFilter? = nil, isPartial: Bool = false,
        jq settings: JQPool.Settings = JQPool.Settings()
    ) {
        self.rules = rules
        self.kind = kind
        self.otherwise = otherwise
        self.filter = filter
        self.isPartial = isPartial
        index = RuleIndex(rules)
        looksAtExpiry = rules.map(\.looksAtExpiry)
        jq = programs.isEmpty ? nil : JQPool(programs: programs, bindings: bindings, settings: settings)
        usesMatch = programs.map { $0.text.contains("$match") }
        hasLocals = programs.map { !$0.locals.isEmpty }
        hasOnePass = kind == .mapping
        aggregates = Self.aggregates(rules)
        var writer = JSONWriter()
        writer.array { writer in
            for rule in rules { writer.raw(rule.canonical) }
            if let filter { writer.raw(filter.canonical) }
            if kind != .rules { writer.string(kind.rawValue) }
            if otherwise != .pass { writer.string(otherwise.rawValue) }
        }
        hash = Digest.sha256.hex(writer.bytes)
    }

    /// A single rule of another set, with its programs.
    convenience init(_ rule: Rule, of set: RuleSet) { self.init([rule], of: set) }

    /// Some rules of another set, with its programs.
    private init(_ rules: [Rule], of set: RuleSet) {
        self.rules = rules
        kind = set.kind
        otherwise = .pass
        filter = set.filter
        isPartial = set.isPartial
        index = RuleIndex(rules)
        looksAtExpiry = rules.map(\.looksAtExpiry)
        jq = set.jq
        usesMatch = set.usesMatch
        hasLocals = set.hasLocals
        hasOnePass = set.hasOnePass
        aggregates = Self.aggregates(rules)
        hash = set.hash
    }

    /// What a rule of another set does to related documents, with the programs of that set.
    init(relatedRule rule: Rule, of set: RuleSet) {
        rules = [rule]
        kind = set.kind
        otherwise = .pass
        filter = nil
        isPartial = set.isPartial
        index = RuleIndex([rule])
        looksAtExpiry = [rule.looksAtExpiry]
        jq = set.jq
        usesMatch = set.usesMatch
        hasLocals = set.hasLocals
        hasOnePass = true
        aggregates = []
        hash = set.hash
    }

    private static func aggregates(_ rules: [Rule]) -> [AggregateRule] {
        rules.enumerated().compactMap { index, rule in
            rule.aggregate.map { action in
                AggregateRule(
                    index: index, name: rule.name, fingerprint: Digest.sha256.hex(rule.canonical),
                    members: action.members, marks: action.marks)
            }
        }
    }

    /// Only the rules with `aggregate`.
    package func onlyAggregates() -> RuleSet { RuleSet(rules.filter { $0.turn == .counting }, of: self) }

    /// Without the rules with `aggregate`: they need every change of a database, in order.
    package func withoutAggregates() -> RuleSet {
        aggregates.isEmpty ? self : RuleSet(rules.filter { $0.turn != .counting }, of: self)
    }

    /// The number of rules.
    package var count: Int { rules.count }

    /// The names of the rules with `at:`.
    package var timedRules: [String] { rules.filter { $0.time != nil }.map(\.name) }

    /// Whether any rule writes documents other than the changed one.
    package var mayPut: Bool {
        rules.contains { rule in rule.then.contains { type(of: $0.action).writesOthers } }
    }

    /// The name of the first rule that sets or removes the expiry of a document, related ones included: then that must
    /// be read with each document. Nil: none does.
    package var expiringRule: String? {
        rules.first { rule in rule.then.contains { $0.action.setsExpiry } }?.name
    }

    /// Whether any rule sets an expiry, or has a selector that names `_exp`.
    package var readsExpiry: Bool { expiringRule != nil || looksAtExpiry.contains(true) }

    /// Whether any rule decides deletions: then the members of tombstones must be known.
    package var decidesDeletions: Bool { rules.contains { $0.on.contains(.delete) } }

    /// Whether any rule resolves conflicts: then it must be known which changed documents have several leaf revisions.
    package var resolvesConflicts: Bool { rules.contains { $0.turn == .resolving } }

    /// The names of the rules with `resolve`.
    package var conflictRules: [String] { rules.filter { $0.turn == .resolving }.map(\.name) }

    /// Whether any rule has effects outside the database: they can't be taken back, or told from repeats after a reset.
    package var actsOutside: Bool {
        rules.contains { rule in rule.then.contains { type(of: $0.action).isOutside } }
    }

    /// Whom the webhooks of all rules talk to, each once.
    package var webhookAccesses: [WebhookAccess] {
        var seen: Set<WebhookAccess> = []
        return rules.flatMap { $0.actions(of: WebhookAction.self) }.map(\.access).filter { seen.insert($0).inserted }
    }

    /// The keyspaces that rules name in `put`, spelled as in the files. The one that they run on may be among them.
    package var otherKeyspaces: Set<String> { rules.reduce(into: []) { $0.formUnion($1.otherKeyspaces) } }

    /// Where rules download attachments from.
    package var downloadSources: Set<DownloadSource> {
        Set(rules.flatMap { $0.actions(of: AttachAction.self) }.compactMap(\.source))
    }

    /// Where rules emit lines to.
    package var emitTargets: Set<EmitTarget> { Self.emitTargets(rules) }

    static func emitTargets(_ rules: [Rule]) -> Set<EmitTarget> {
        Set(rules.flatMap { $0.actions(of: EmitAction.self) }.map(\.target))
    }

    /// The names of the rules, unique. An index in this list identifies a rule in a ``Decision``.
    package var names: [String] { rules.map(\.name) }

    /// For each rule, by name, a hash of all that it does, attached files included.
    package var fingerprints: [String: String] {
        Dictionary(rules.map { ($0.name, Digest.sha256.hex($0.canonical)) }) { first, _ in first }
    }

    /// Whether the rule with this index has `on_error: skip`: if it fails, the effects of other rules stand.
    package func skipsErrors(of rule: Int) -> Bool { rules[rule].onError == .skip }

    /// Prepares the jq programs for the first decision, if there are any. Returns at once.
    package func prepare() { jq?.startSoon() }

    /// A decider for one task, not to be shared.
    package func makeDecider() -> Decider { Decider(self) }
}

extension RuleSet {
    /// Reads rule files and the files that they attach from disk. All or nothing. Blocks.
    ///
    /// - Parameter paths: Files, and folders, of which `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    /// - Throws: ``RuleFilesError`` with all errors of all files.
    package static func load(paths: [String]) throws(RuleFilesError) -> RuleSet {
        try RuleFileSet.load(paths: paths).ruleSet()
    }
}
