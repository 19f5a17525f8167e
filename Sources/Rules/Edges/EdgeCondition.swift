internal import Encodings
internal import LosslessJSON

/// The part of a rule that compares a document with the state that the rule last saw: `changed`, `on: [enter]`,
/// `on: [leave]`.
struct EdgeCondition: Sendable {
    /// What to do with a document that the rule sees for the first time.
    enum FirstSightPolicy: String, Sendable {
        case fire, learn
    }

    /// The members in `changed`. Empty: any change counts.
    let changed: [MemberPath]
    /// The members whose values are remembered.
    private let remembered: [MemberPath]
    /// The value of `first`. Nil: the default for the kind of edge.
    let first: FirstSightPolicy?
    let on: Rule.Changes
    /// Selects the documents that the rule compares, in addition to those that it remembers. With `changed`, it omits the
    /// conditions of `when` on these members, because a document may not match until such a member has changed.
    let scope: Selector

    /// The maximum size of the remembered values of one document, in bytes.
    static let valuesLimit = 4096

    /// The names of the members whose values are remembered, sorted.
    var rememberedNames: [String] { remembered.map(\.text).sorted() }

    /// Whether a member's value, or a part of it, is remembered.
    func remembers(_ path: [String]) -> Bool { remembered.contains { $0.overlaps(FieldPath(names: path)) } }

    /// Whether the rule remembers which documents match.
    var tracksMatches: Bool { !on.isDisjoint(with: [.enter, .leave]) }

    /// Whether documents that don't match are remembered too, so that a later match is not their first time.
    private var remembersUnmatched: Bool { on.contains(.enter) && first(.enter) == .learn }

    func first(_ kind: Edge.Kind) -> FirstSightPolicy { first ?? (kind == .enter ? .fire : .learn) }

    /// - Parameters:
    ///   - remembered: The members whose values are remembered.
    ///   - when: The rule's `when`.
    init(
        _ on: Rule.Changes, changed: [MemberPath], remembered: [MemberPath], first: FirstSightPolicy?, when: Selector
    ) {
        (self.on, self.changed, self.first) = (on, changed, first)
        self.remembered = remembered.filter { member in
            !remembered.contains { $0.path.steps.count < member.path.steps.count && $0.overlaps(member.path) }
        }
        let learnsAll = on.contains(.enter) && first == .learn
        scope = learnsAll ? .all([]) : .all(when.conjuncts.filter { clause in !changed.contains(where: clause.reads) })
    }
}

extension Selector {
    /// Whether the selector depends on a member.
    fileprivate func reads(_ member: MemberPath) -> Bool {
        switch self {
        case .all(let selectors), .any(let selectors), .none(let selectors): selectors.contains { $0.reads(member) }
        case .not(let selector): selector.reads(member)
        case .field(let path, _): member.overlaps(path)
        case .value: true
        }
    }
}

// MARK: - Looking at a document

extension EdgeCondition {
    /// What a rule sees of a document.
    struct Observation: Sendable {
        /// The state that the rule last saw. Nil: it sees the document for the first time.
        let before: LastSeen?
        /// Whether the rule's selectors hold.
        let matches: Bool
        /// Whether the document is deleted, no longer visible, or out of the rule's scope.
        let isUnavailable: Bool
        /// The current digests of the members in `changed`.
        let digests: [MemberDigest]
        /// The current values, as ``LastSeen/values``.
        let values: [UInt8]
        /// Whether the rule only remembers the document, and does not fire.
        var onlyLearns = false
        /// The number of the rule in the state. Rules that forget all documents get a new one, so that their first edges
        /// differ from earlier ones.
        var ruleNumber = 0

        /// Whether the members in `changed` differ.
        var differs: Bool { before.map { $0.digests != digests } ?? true }

        fileprivate var lastEdge: UInt64 {
            if let edge = before?.edge, edge != 0 { edge } else { UInt64(clamping: ruleNumber) }
        }
    }

    /// Whether a document still exists and is visible.
    enum Visibility: Sendable {
        case present, deleted
        /// It is no longer visible to this client, or the rules have just deleted it.
        case lost
    }

    /// - Parameter before: The state that the rule last saw.
    /// - Returns: Nil if the rule ignores the document.
    func observe(
        _ rule: Rule, _ document: JSONValue, _ visibility: Visibility, before: LastSeen?, _ scratch: MatchScratch
    ) throws(MatchError) -> Observation? {
        var isInScope = false
        if visibility == .present { isInScope = try rule.looks(at: document, scratch) }
        guard isInScope else {
            var matches = false
            if visibility == .deleted, on.contains(.delete) { matches = try rule.fires(on: document, scratch) }
            guard matches || before?.matched == true else { return nil }
            // The remembered digests are kept.
            let digests = before?.digests ?? changed.map { _ in .missing }
            return Observation(before: before, matches: matches, isUnavailable: true, digests: digests, values: [])
        }
        return Observation(
            before: before, matches: try rule.fires(on: document, scratch), isUnavailable: false,
            digests: changed.map { $0.digest(in: document) },
            values: values(in: document))
    }

    /// Whether the outcome depends on the rule's `if`.
    func dependsOnCondition(_ observation: Observation) -> Bool {
        guard observation.matches else { return false }
        if tracksMatches { return true }
        return observation.differs && !observation.onlyLearns && (observation.before != nil || first(.change) == .fire)
    }

    /// Why the rule fires. Nil if it does not fire.
    ///
    /// - Parameter matches: Whether selectors and `if` hold.
    func edge(_ observation: Observation, matches: Bool) -> Edge? {
        guard !observation.onlyLearns, let kind = kind(observation, matches) else { return nil }
        let names = zip(changed.indices, changed).filter { index, _ in
            guard let before = observation.before else { return observation.digests[index] != .missing }
            return before.digests[index] != observation.digests[index]
        }
        let known = observation.before.map { $0.values.isEmpty ? Array("{}".utf8) : $0.values }
        return Edge(
            kind, after: observation.lastEdge, now: observation.digests, changed: names.map(\.1.text),
            before: known ?? Array("null".utf8))
    }

    private func kind(_ observation: Observation, _ matches: Bool) -> Edge.Kind? {
        if on.contains(.leave), observation.before?.matched == true, observation.isUnavailable || !matches {
            return .leave
        }
        guard matches else { return nil }
        if observation.isUnavailable { return .some(.none) }
        if on.contains(.enter), observation.before.map({ !$0.matched }) ?? (first(.enter) == .fire) { return .enter }
        guard on.contains(.change) else { return nil }
        if changed.isEmpty { return .some(.none) }
        return observation.differs && (observation.before != nil || first(.change) == .fire) ? .change : nil
    }

    /// What the rule remembers afterwards. Nil: nothing.
    func lastSeen(_ observation: Observation, matches: Bool) -> LastSeen? {
        if observation.isUnavailable {
            var seen = observation.before
            seen?.matched = false
            if changed.isEmpty { seen?.values = [] }
            return seen
        }
        let matched = tracksMatches && matches
        guard observation.before != nil || matched || !changed.isEmpty || remembersUnmatched else { return nil }
        return LastSeen(
            matched: matched, digests: observation.digests,
            values: matched || !changed.isEmpty ? observation.values : [],
            edge: observation.before?.edge ?? 0)
    }
}

// MARK: - Remembered values

extension EdgeCondition {
    /// The values to remember of a document, as an object with only these members. Empty if none are remembered.
    func values(in document: JSONValue) -> [UInt8] {
        guard !remembered.isEmpty else { return [] }
        var writer = JSONWriter()
        Self.write(
            remembered.compactMap { member in
                member.value(in: document).map { (member.path.steps[...].map(\.name)[...], $0) }
            }, to: &writer)
        return writer.bytes
    }

    /// Writes members as nested objects, along their paths.
    private static func write(_ members: [(path: ArraySlice<[UInt8]>, value: JSONValue)], to writer: inout JSONWriter) {
        writer.object { writer in
            var written: Set<[UInt8]> = []
            for (path, value) in members {
                guard let name = path.first, written.insert(name).inserted else { continue }
                writer.name(String(decoding: name, as: UTF8.self))
                guard path.count > 1 else {
                    writer.raw(value.bytes)
                    continue
                }
                write(members.filter { $0.path.first == name }.map { ($0.path.dropFirst(), $0.value) }, to: &writer)
            }
        }
    }
}
