internal import Encodings
internal import JQ
internal import LosslessJSON

/// All rules of a run, in order. Immutable: any number of tasks can share it, each with its own ``Decider``.
package final class RuleSet: Sendable {
    let rules: [Rule]
    let kind: RuleFileKind
    /// What a mapping does with documents on which no rule fires.
    let otherwise: UnmatchedDocuments
    let index: RuleIndex
    let filter: DocumentFilter?
    /// Whether it contains only some rules of its files, or applies only to some documents.
    package let isPartial: Bool
    let programs: Programs
    /// For each rule, whether its selectors name `_exp`.
    let testsExpiry: [Bool]
    /// Whether the rules run once, instead of until nothing changes.
    let hasOnePass: Bool
    /// The rules with `aggregate`, in order.
    package let aggregates: [AggregateRule]
    private let pause: Pause

    /// SHA-256, in lowercase hexadecimal, of everything that the rules' decisions depend on, including attached files.
    /// Comments, formatting, key order, file names and paths do not affect it.
    package let hash: String

    /// The jq programs of the rules.
    struct Programs {
        /// Runs them in helper processes that start on first use. Nil without programs.
        let pool: JQPool?
        /// For each program, whether it reads `$match`.
        let useMatch: [Bool]
        /// For each program, whether it has additional variables.
        let haveLocals: [Bool]
        /// The texts, if another set with the same ones can share the processes. Empty if the programs have bindings.
        let shared: [JQProgram]

        init(_ programs: [JQProgram], _ bindings: [JQBinding], _ settings: JQPool.Settings, sharing earlier: Programs?)
        {
            shared = bindings.isEmpty ? programs : []
            if let earlier, !shared.isEmpty, earlier.shared == shared {
                pool = earlier.pool
            } else {
                pool = programs.isEmpty ? nil : JQPool(programs: programs, bindings: bindings, settings: settings)
            }
            useMatch = programs.map { $0.text.contains("$match") }
            haveLocals = programs.map { !$0.locals.isEmpty }
        }
    }

    /// The rules that do not fire at present, and what depends on them.
    private struct Pause {
        let names: Set<String>
        /// For each rule, whether it is paused.
        let isPaused: [Bool]
        let comparing: [Int]

        init(_ names: Set<String>, of rules: [Rule]) {
            self.names = names
            let isPaused = rules.map { names.contains($0.name) }
            self.isPaused = isPaused
            comparing = rules.indices.filter { rules[$0].edges != nil && !isPaused[$0] }
        }
    }

    /// The names of the rules that do not fire at present.
    package var paused: Set<String> { pause.names }

    /// The indexes of the rules with `changed`, `enter` or `leave` that are not paused.
    var comparingRules: [Int] { pause.comparing }

    /// Runs the programs. Nil without programs.
    var jq: JQPool? { programs.pool }

    /// - Parameters:
    ///   - programs: The texts behind the program indexes of the rules.
    ///   - bindings: The variables of all programs.
    ///   - isIndexed: Whether an index excludes rules before they are evaluated.
    ///   - earlier: A set whose processes run the programs too, if they are the same.
    init(
        _ rules: [Rule], kind: RuleFileKind = .rules, otherwise: UnmatchedDocuments = .pass, programs: [JQProgram] = [],
        bindings: [JQBinding] = [], filter: DocumentFilter? = nil, isPartial: Bool = false,
        jq settings: JQPool.Settings = JQPool.Settings(), isIndexed: Bool = true, sharing earlier: RuleSet? = nil
    ) {
        self.rules = rules
        self.kind = kind
        self.otherwise = otherwise
        self.filter = filter
        self.isPartial = isPartial
        index = RuleIndex(rules, usesFields: isIndexed)
        pause = Pause([], of: rules)
        testsExpiry = rules.map(\.testsExpiry)
        self.programs = Programs(programs, bindings, settings, sharing: earlier?.programs)
        hasOnePass = kind == .mapping
        aggregates = Self.aggregates(rules)
        var writer = JSONWriter()
        writer.array { writer in
            for rule in rules { writer.raw(rule.definition.canonical) }
            if let filter { writer.raw(filter.canonical) }
            if kind != .rules { writer.string(kind.rawValue) }
            if otherwise != .pass { writer.string(otherwise.rawValue) }
        }
        hash = Digest.sha256.hex(writer.bytes)
    }

    /// A set of one rule of another set, with that set's programs.
    convenience init(_ rule: Rule, of set: RuleSet) { self.init([rule], of: set) }

    /// A set of some rules of another set, with that set's programs.
    ///
    /// - Parameters:
    ///   - areRelated: Whether they are the actions of a rule of that set on related documents.
    ///   - keepsOtherwise: Whether a mapping's `otherwise` still applies.
    ///   - paused: The names of rules that do not fire. Nil: as in that set.
    init(
        _ rules: [Rule], of set: RuleSet, areRelated: Bool = false, keepsOtherwise: Bool = false,
        paused: Set<String>? = nil
    ) {
        self.rules = rules
        kind = set.kind
        otherwise = keepsOtherwise ? set.otherwise : .pass
        filter = areRelated ? nil : set.filter
        isPartial = set.isPartial
        pause = Pause(paused ?? set.paused, of: rules)
        index = RuleIndex(rules, isPaused: pause.isPaused)
        testsExpiry = rules.map(\.testsExpiry)
        programs = set.programs
        hasOnePass = areRelated || set.hasOnePass
        aggregates = areRelated ? [] : Self.aggregates(rules)
        hash = set.hash
    }

    /// The actions on related documents as a rule set, with the programs of the original set.
    convenience init(relatedRule rule: Rule, of set: RuleSet) { self.init([rule], of: set, areRelated: true) }

    private static func aggregates(_ rules: [Rule]) -> [AggregateRule] {
        rules.enumerated().compactMap { index, rule in
            rule.aggregate.map { action in
                AggregateRule(
                    index: index, name: rule.name, fingerprint: Digest.sha256.hex(rule.definition.canonical),
                    members: action.members, literalMembers: action.literalMembers)
            }
        }
    }

    /// A set with only the rules with `aggregate`.
    package func onlyAggregates() -> RuleSet { RuleSet(rules.filter { $0.phase == .counting }, of: self) }

    /// A set without the rules with `aggregate`, which need every change of a database, in order.
    package func withoutAggregates() -> RuleSet {
        aggregates.isEmpty ? self : RuleSet(rules.filter { $0.phase != .counting }, of: self)
    }

    /// The same rules, of which some do not fire. A paused rule neither sees a document nor remembers one. A rule with
    /// `aggregate` can't be paused, because it needs every change.
    ///
    /// - Parameter names: Other names are ignored.
    package func pausing(_ names: Set<String>) -> RuleSet {
        let paused = Set(rules.filter { names.contains($0.name) && $0.phase != .counting }.map(\.name))
        return paused == self.paused ? self : RuleSet(rules, of: self, keepsOtherwise: true, paused: paused)
    }

    /// The number of rules.
    package var count: Int { rules.count }

    /// The names of the rules with `at:`.
    package var timedRules: [String] { rules.filter { $0.time != nil }.map(\.name) }

    /// Whether any rule writes documents other than the changed one.
    package var mayPut: Bool {
        rules.contains { rule in rule.then.contains { type(of: $0.action).writesOthers } }
    }

    /// Whether no rule writes a document: all effects are outside the database.
    package var writesNothing: Bool {
        rules.allSatisfy { rule in
            rule.then.allSatisfy { step in
                type(of: step.action).isOutside && (step.action as? WebhookAction)?.response == nil
            }
        }
    }

    /// The name of the first rule that sets or removes the expiry of a document, including related ones. The expiry
    /// must then be read with each document. Nil if no rule does.
    package var expiringRule: String? {
        rules.first { rule in rule.then.contains { $0.action.setsExpiry } }?.name
    }

    /// Whether any rule sets an expiry, or has a selector that names `_exp`.
    package var readsExpiry: Bool { expiringRule != nil || testsExpiry.contains(true) }

    /// Whether any rule fires on deletions. The members of tombstones must then be known.
    package var decidesDeletions: Bool { rules.contains { $0.on.contains(.delete) } }

    /// Whether any rule resolves conflicts. It must then be known which changed documents have several leaf revisions.
    package var resolvesConflicts: Bool { rules.contains { $0.phase == .resolving } }

    /// The names of the rules with `resolve`.
    package var conflictRules: [String] { rules.filter { $0.phase == .resolving }.map(\.name) }

    /// Whether any rule has effects outside the database. They can't be undone, or recognized as repeats after a reset.
    package var actsOutside: Bool {
        rules.contains { rule in rule.then.contains { type(of: $0.action).isOutside } }
    }

    /// The receivers and credentials of all webhooks, each once.
    package var webhookAccesses: [WebhookAccess] {
        var seen: Set<WebhookAccess> = []
        return rules.flatMap { $0.actions(of: WebhookAction.self) }.map(\.access).filter { seen.insert($0).inserted }
    }

    /// The keyspaces that rules name in `put`, spelled as in the files. May include the keyspace that the rules run on.
    package var otherKeyspaces: Set<String> { rules.reduce(into: []) { $0.formUnion($1.otherKeyspaces) } }

    /// The servers from which rules download attachments.
    package var downloadSources: Set<DownloadSource> {
        Set(rules.flatMap { $0.actions(of: AttachAction.self) }.compactMap(\.source))
    }

    /// The targets of the rules' `emit` actions.
    package var emitTargets: Set<EmitTarget> { Self.emitTargets(rules) }

    static func emitTargets(_ rules: [Rule]) -> Set<EmitTarget> {
        Set(rules.flatMap { $0.actions(of: EmitAction.self) }.map(\.target))
    }

    /// The unique names of the rules. An index in this list identifies a rule in a ``Decision``.
    package var names: [String] { rules.map(\.name) }

    /// For each rule, by name, a hash of everything that it does, including attached files.
    package var fingerprints: [String: String] {
        Dictionary(rules.map { ($0.name, Digest.sha256.hex($0.definition.canonical)) }) { first, _ in first }
    }

    /// Whether the rule with this index has `on_error: skip`: if it fails, the effects of other rules remain.
    package func skipsErrors(of rule: Int) -> Bool { rules[rule].definition.onError == .skip }

    /// Starts to prepare the jq programs for the first decision, if there are any. Returns at once.
    package func prepare() { jq?.startSoon() }

    /// Makes a decider for one task. Not to be shared.
    package func makeDecider() -> Decider { Decider(self) }
}

extension RuleSet {
    /// Reads rule files and the files that they attach from disk. Reads everything or throws. Blocks.
    ///
    /// - Parameter paths: Files and folders. In folders, `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    /// - Throws: ``RuleFilesError`` with all errors of all files.
    package static func load(paths: [String]) throws(RuleFilesError) -> RuleSet {
        try RuleFileSet.load(paths: paths).ruleSet()
    }
}
