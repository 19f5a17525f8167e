internal import Encodings
package import LosslessJSON

/// Acts on the other documents that a selector matches.
struct RelatedAction: Action {
    static let name = "related"
    static let isAllowedInRelated = false
    static let writesOthers = true

    static let keys = ["selector", "limit", "then"]
    static let untestedKeys: Set = ["limit"]
    private static let defaultLimit = 10_000
    private static let maxLimit = 1_000_000

    let selector: SelectorTemplate
    /// The maximum number of documents that may match.
    let limit: Int
    /// What to do to each of them.
    let rule: Rule

    var programs: [Int] { selector.programs }
    var setsExpiry: Bool { rule.then.contains { $0.action.setsExpiry } }
    var otherKeyspaces: Set<String> { rule.otherKeyspaces }

    /// Nil, with errors, if a value is missing or wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "related", known: Self.keys, places: Self.places, errors: errors)
        else { return nil }
        let before = errors.errors.count
        guard reading.kind == .rules else {
            errors.report(
                at: node.position, "'related' has no meaning in a mapping, which sees one document at a time; remove it"
            )
            return nil
        }
        let selector = object.required("selector", "say which documents: selector: { type: task, list: { jq: ._id } }")
            .flatMap { SelectorTemplate($0, reading) }
        let limit = Self.limit(object)
        let rule = object.required("then", "write the actions for each document: then: [delete: {}]").flatMap {
            Self.rule(node, then: $0, reading)
        }
        guard errors.errors.count == before, let selector, let rule else { return nil }
        self.selector = selector
        self.limit = limit
        self.rule = rule
    }

    /// The selector's names elsewhere.
    private static let places = Dictionary(
        uniqueKeysWithValues: ["when", "where", "match", "filter", "query"].map {
            ($0, "the condition on the related documents is named selector")
        })

    private static func limit(_ object: SourceObject) -> Int {
        guard let node = object.node("limit") else { return defaultLimit }
        if case .number(let text) = node.content, let limit = Int(text), (1...maxLimit).contains(limit) {
            return limit
        }
        object.errors.report(
            at: node.position,
            "'limit' must be a number of documents from 1 to \(maxLimit); write one, or omit it for the default, "
                + "\(defaultLimit)")
        return defaultLimit
    }

    private static func rule(_ node: SourceNode, then: SourceNode, _ reading: RuleReading) -> Rule? {
        guard case .list(let elements) = then.content else {
            reading.errors.reportKind(
                of: then, "'then' must be a list of actions on the related documents",
                remedy: "begin each with '- '")
            return nil
        }
        guard !elements.isEmpty else {
            reading.errors.report(
                at: then.position, "'then' of related is empty; write the actions for each document: [delete: {}]")
            return nil
        }
        for member in elements.compactMap(\.actionMember)
        where ActionRegistry.action(named: member.name)?.isAllowedInRelated == false {
            reading.errors.report(
                at: member.position,
                "'\(member.name)' is not allowed in the 'then' of related; write a rule for the related documents")
            return nil
        }
        return reading.with(locals: [RelatedEffect.sourceName]) { Rule(relatedTo: node, then: then, reading) }
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        guard let selector = try selector.filled(outputs) else { return }
        draft.effects.append(
            RelatedEffect(
                origin: draft.origin, selector: selector, limit: limit, rule: rule, source: draft.document,
                edge: draft.edge))
    }

    /// Also writes the content of attached files.
    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter) {
        if let elements = element.member(RuleStep.elementsKey) { writer.raw(elements.json) }
        let node = element.member(Self.name)
        writer.object { writer in
            writer.name("related")
            writer.array { writer in
                writer.raw(node?.member("selector")?.json ?? Array("null".utf8))
                writer.integer(limit)
                writer.raw(rule.definition.canonical)
            }
        }
    }
}

// MARK: - Checks

extension RelatedAction {
    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        ActionCheck.tombstoneFields(element.member(Self.name)?.member("selector"), rule)
            + ActionCheck.messages(self.rule)
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        check.messages(rule)
    }

    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)] {
        rule.locatedSteps.flatMap { $0.step.action.databaseNeeds($0.element) }
    }

    func link(_ element: SourceNode, rule index: Int) -> RuleLink? { RuleLink(self, element, index) }
}

/// Actions on other documents, carried out before the changed one is written.
package struct RelatedEffect: Effect {
    /// The programs' variable in `then` that holds the changed document.
    static let sourceName = "source"

    /// The step that requests it.
    package let origin: EffectOrigin
    /// Which documents.
    package let selector: RelatedSelector
    /// The maximum number of documents that may match. If more match, none is changed.
    package let limit: Int
    /// What to do to each of them.
    let rule: Rule
    /// The changed document, as the rule left it.
    let source: JSONText
    /// For what the rule fires, if it compares documents with earlier ones.
    let edge: Edge?

    /// Whether its actions also `put` documents.
    package var mayPut: Bool {
        rule.then.contains { type(of: $0.action).writesOthers }
    }

    /// The actions as in the rule file.
    var actions: [UInt8] { rule.definition.source.member("then")?.json ?? Array("[]".utf8) }
}

/// Decides the documents that one related effect applies to. One instance per task.
package final class RelatedDecider {
    private let effect: RelatedEffect
    private let change: [UInt8]
    private let decider: Decider
    private let scratch = MatchScratch()

    /// - Parameters:
    ///   - input: The changed document, for `$change`.
    ///   - ruleSet: The rule set that made the effect.
    package init(_ effect: RelatedEffect, of input: DecisionInput, _ ruleSet: RuleSet) {
        self.effect = effect
        change = input.change(edge: effect.edge?.id(rule: ruleSet.names[effect.origin.rule], of: input.document))
        decider = RuleSet(relatedRule: effect.rule, of: ruleSet).makeDecider()
    }

    /// Whether the effect applies to the document.
    ///
    /// - Throws: ``DecisionError`` if the match can't be decided, for example when a regular expression exceeds its
    ///   match limit.
    package func matches(_ document: JSONValue) throws(DecisionError) -> Bool {
        guard effect.selector.namesDesignDocuments || !document.isDesignDocument else { return false }
        do throws(MatchError) { return try effect.selector.selector.matches(document, scratch) } catch {
            throw DecisionError(rule: nil, reason: error.description)
        }
    }

    /// Decides one document that ``matches(_:)``: runs the actions once, in order.
    ///
    /// - Parameters:
    ///   - now: The programs' `$now`, in seconds since 1970.
    ///   - stored: As for a ``Decider``.
    ///   - effects: As for a ``Decider``.
    package func decide(
        on documents: [JSONText], now: Int, stored: StoredAttachmentReader? = nil, effects: EffectMemory = .unlimited
    ) async -> [Decision] {
        let source = DecisionInput.Source(document: effect.source, change: change, locals: effect.edge?.locals ?? [])
        return await decider.decide(
            on: documents.map { DecisionInput($0, source: source) }, now: now, stored: stored, effects: effects)
    }
}
