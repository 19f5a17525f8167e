internal import JQ
internal import LosslessJSON

/// One rule applied to one document: its time, its condition, then its actions in order. The work takes effect only
/// when all actions are done.
struct RuleAttempt {
    enum Outcome {
        case continues, fires, doesNotFire
        /// Needs this download. Then the same step must be repeated with the same outcomes.
        case needs(DownloadRequest)
        /// Does not fire now: its time is in the future, or the rule has already fired for it.
        case notDue(RuleTime)

        /// Whether the stage had its effect.
        var isProgress: Bool {
            switch self {
            case .continues, .fires: true
            case .doesNotFire, .needs, .notDue: false
            }
        }
    }

    /// The parts of the work.
    enum Stage {
        /// Evaluates `at`.
        case time
        /// Evaluates `if`.
        case condition
        /// Evaluates the `for_each` of a step.
        case elements(step: Int)
        /// Does the action of a step, once or for one element.
        case action(step: Int)
    }

    /// The times that a rule's `at:` is compared with.
    struct Clock {
        /// In seconds since 1970.
        let now: Int
        /// The times for which the rule has fired.
        let fired: [Int]
    }

    /// The largest document that an action may produce. Gateways accept 8 MB (CouchDB's default) to 20 MiB (Sync
    /// Gateway).
    static let lengthLimit = 32 << 20
    /// The maximum number of bytes that are downloaded for all attachments of one document.
    static let downloadLimit = 64 << 20

    let rule: Rule
    let index: Int
    /// The time for which the rule fires. Nil without `at:`.
    private(set) var due: Int?
    private let clock: Clock
    private(set) var trial: Draft
    private var isDue: Bool
    private var conditionHolds: Bool
    /// The number of completed steps.
    private var done = 0
    /// The elements of the current step. Nil if they are not known yet, or the step has none.
    private var elements: [JSONText]?
    /// The index of the next element in ``elements``.
    private var nextElement = 0
    /// What a rule with `changed`, `enter` or `leave` sees of the document. Nil for other rules.
    private let observation: EdgeCondition.Observation?
    /// What such a rule remembers once its condition has been evaluated.
    private(set) var seen: LastSeen?

    /// - Parameter observation: What the rule sees, if it compares. Otherwise its selectors must hold for the draft.
    private init(_ rule: Rule, _ index: Int, _ draft: Draft, _ clock: Clock, _ observation: EdgeCondition.Observation?)
    {
        self.rule = rule
        self.index = index
        self.clock = clock
        self.observation = observation
        isDue = rule.time == nil
        trial = draft
        trial.effects = Effects()
        trial.contributions = []
        trial.edge = nil
        conditionHolds = rule.condition == nil && observation == nil
    }

    /// - Precondition: The rule's selectors hold for the draft.
    init(_ rule: Rule, _ index: Int, _ draft: Draft, _ clock: Clock) { self.init(rule, index, draft, clock, nil) }

    /// For a rule with `changed`, `enter` or `leave`.
    init(_ rule: Rule, _ index: Int, _ draft: Draft, _ observation: EdgeCondition.Observation) {
        self.init(rule, index, draft, Clock(now: draft.now, fired: []), observation)
    }

    /// Provides the answer that ``Outcome/needs(_:)`` requested.
    mutating func provide(_ answer: DownloadAnswer, to request: DownloadRequest) {
        trial.downloads[request] = answer
    }

    /// The document after the actions so far, as programs see it.
    var document: JSONText { trial.document }

    /// What comes next. Nil if everything is done.
    var stage: Stage? {
        if !isDue { return .time }
        if !conditionHolds { return .condition }
        guard done < rule.then.count else { return nil }
        return rule.then[done].elements != nil && elements == nil ? .elements(step: done) : .action(step: done)
    }

    /// The programs whose outcomes the next step needs.
    var programs: [Int] {
        switch stage {
        case .time: rule.time.map { [$0] } ?? []
        case .condition: dependsOnCondition ? rule.condition.map { [$0] } ?? [] : []
        case .elements(let step): rule.then[step].elements.map { [$0] } ?? []
        case .action(let step): rule.then[step].action.programs
        case nil: []
        }
    }

    private var dependsOnCondition: Bool { observation.map { rule.edges?.dependsOnCondition($0) == true } ?? true }

    /// The edge for which a rule with `changed`, `enter` or `leave` fires. Nil for other rules, and until it is known.
    var edge: Edge? { trial.edge }

    /// The edge that the rule's programs see: as ``edge``, or the one for which it fires if its `if` holds.
    var possibleEdge: Edge? {
        guard let observation, let edges = rule.edges else { return nil }
        return trial.edge ?? edges.edge(observation, matches: true)
    }

    /// The element of the next step. Nil without `for_each`.
    var element: RuleElement? {
        guard let elements, nextElement < elements.count else { return nil }
        return RuleElement(item: elements[nextElement], index: nextElement)
    }

    /// Performs the next step.
    ///
    /// - Parameter outcomes: The outcomes of ``programs``.
    mutating func proceed(_ outcomes: [JQOutcome]) throws(DecisionError) -> Outcome {
        guard isDue else { return try evaluateTime(outcomes) }
        guard conditionHolds else { return try evaluateCondition(outcomes) }
        guard done < rule.then.count else { return .fires }
        let step = rule.then[done]
        let outputs = try outputs(outcomes, of: step)
        if step.elements != nil, elements == nil {
            elements = try checked(outputs[0])
        } else {
            let length = trial.document.bytes.count
            trial.origin = EffectOrigin(rule: index, step: done, element: element?.index)
            trial.element = element
            do throws(ActionError) { try step.action.apply(to: &trial, outputs) } catch {
                switch error {
                case .doesNotApply: return .doesNotFire
                case .needs(let request): return .needs(request)
                case .failed(let reason):
                    throw DecisionError(rule: rule.name, reason: reason + rule.place(ofStep: done, program: nil))
                }
            }
            try checkLength(after: step, was: length)
            try checkAttachments(after: step)
            try checkEffects(after: step)
            nextElement += 1
        }
        if let elements, nextElement < elements.count { return .continues }
        elements = nil
        nextElement = 0
        done += 1
        return done < rule.then.count ? .continues : .fires
    }

    private func outputs(_ outcomes: [JQOutcome], of step: RuleStep) throws(DecisionError) -> [[JSONText]] {
        var outputs: [[JSONText]] = []
        for (index, outcome) in outcomes.enumerated() {
            switch outcome {
            case .outputs(let texts): outputs.append(texts)
            case .failed(let error):
                let programs = programs
                let place = rule.place(
                    ofStep: done, program: programs.indices.contains(index) ? programs[index] : nil)
                let what = step.elements != nil && elements == nil ? RuleStep.elementsKey : step.action.name
                throw DecisionError(
                    rule: rule.name, reason: "\(what): \(error)\(place)", isTemporary: error.isTemporary)
            }
        }
        return outputs
    }

    private func checked(_ elements: [JSONText]) throws(DecisionError) -> [JSONText] {
        guard elements.count <= RuleStep.elementLimit else {
            throw DecisionError(
                rule: rule.name,
                reason: "for_each: the program gives \(elements.count) elements, but one document may have at most "
                    + "\(RuleStep.elementLimit); select fewer")
        }
        return elements
    }

    private func checkLength(after step: RuleStep, was length: Int) throws(DecisionError) {
        guard trial.document.bytes.count > max(Self.lengthLimit, length) else { return }
        throw DecisionError(rule: rule.name, reason: Self.lengthReason(step.action.name))
    }

    /// The message for a document that exceeds ``lengthLimit``.
    static func lengthReason(_ action: String) -> String {
        "\(action): the document becomes larger than \(lengthLimit >> 20) MiB, which no gateway accepts; write less "
            + "into it"
    }

    /// Evaluates the rule's `at:`.
    private mutating func evaluateTime(_ outcomes: [JQOutcome]) throws(DecisionError) -> Outcome {
        isDue = true
        switch outcomes.first.map(DueTime.init) {
        case .never?, nil: return .doesNotFire
        // This holds even if the clock was set back.
        case .at(let due) where clock.fired.contains(due):
            return .notDue(RuleTime(rule: rule.name, due: due, hasFired: true))
        case .at(let due) where due > clock.now:
            return .notDue(RuleTime(rule: rule.name, due: due, hasFired: false))
        case .at(let due):
            self.due = due
            return .continues
        case .failed(let reason, let isTemporary):
            throw DecisionError(rule: rule.name, reason: reason, isTemporary: isTemporary)
        }
    }

    private func checkAttachments(after step: RuleStep) throws(DecisionError) {
        let bytes = trial.attachments.values.reduce(0) { $0 + ($1.url == nil ? 0 : $1.content.length) }
        guard bytes > Self.downloadLimit else { return }
        throw DecisionError(
            rule: rule.name,
            reason: "\(step.action.name): the downloaded attachments of the document are larger than "
                + "\(Self.downloadLimit >> 20) MiB together; attach fewer")
    }

    /// Evaluates the rule's `if:`.
    private mutating func evaluateCondition(_ outcomes: [JQOutcome]) throws(DecisionError) -> Outcome {
        conditionHolds = true
        let holds: Bool
        switch outcomes.first.map(ConditionOutcome.init) {
        case .holds: holds = true
        case .fails: holds = false
        case nil: holds = observation?.matches ?? false
        case .failed(let reason, let isTemporary):
            throw DecisionError(rule: rule.name, reason: reason, isTemporary: isTemporary)
        }
        guard let observation, let edges = rule.edges else { return holds ? .continues : .doesNotFire }
        seen = edges.lastSeen(observation, matches: holds)
        trial.edge = edges.edge(observation, matches: holds)
        return trial.edge == nil ? .doesNotFire : .continues
    }

    /// The draft with the rule's work. Its effects replace the rule's earlier ones.
    func draft(onto draft: Draft) -> Draft {
        var result = trial
        result.effects = draft.effects
        result.effects.replace(rule: index, by: trial.effects)
        result.contributions = draft.contributions + trial.contributions
        return result
    }
}

/// The result of a rule's `if:` for a document.
enum ConditionOutcome {
    case holds
    case fails
    case failed(String, isTemporary: Bool)

    /// As in jq: everything except false and null is true. No output counts as false.
    init(_ outcome: JQOutcome) {
        switch outcome {
        case .failed(let error): self = .failed("if: \(error)", isTemporary: error.isTemporary)
        case .outputs(let outputs) where outputs.count > 1:
            self = .failed("if: the program gives \(outputs.count) values, not one", isTemporary: false)
        case .outputs(let outputs):
            switch outputs.first?.root.kind {
            case nil, .null, .false: self = .fails
            default: self = .holds
            }
        }
    }
}

/// A document while rules change it, with the effects of the rules.
struct Draft {
    var document: JSONText
    /// The attachments behind the document's placeholders, by name.
    var attachments: [ExactString: Attachment] = [:]
    /// What to do before the document is written.
    var effects = Effects()
    /// What the document adds to totals, at most once for each rule.
    var contributions: [Contribution] = []
    /// The downloads for the document so far.
    var downloads: [DownloadRequest: DownloadAnswer] = [:]
    /// Gateway attachments that may have the same content as one of the ``attachments``, by name.
    private(set) var unknown: [ExactString: StoredAttachment] = [:]
    /// The current step: the origin of new effects.
    var origin = EffectOrigin(rule: 0, step: 0, element: nil)
    /// The element of the current step. Nil without `for_each`.
    var element: RuleElement?
    /// For what the current rule fires, if it compares documents with earlier ones.
    var edge: Edge?
    /// `$now`: seconds since 1970.
    let now: Int
    /// Whether the document is a tombstone now. Then no other rule applies.
    private(set) var isDeleted = false

    init(document: JSONText, now: Int) {
        self.document = document
        self.now = now
    }

    /// Records that the gateway's attachment must be read for comparison.
    mutating func noteUnknown(_ attachment: Attachment, _ stub: JSONValue, named name: String) {
        guard let id = document.root["_id"]?.string, let digest = stub["digest"]?.string else { return }
        unknown[ExactString(name)] = StoredAttachment(
            id: id, revision: document.root["_rev"]?.string, name: name, digest: digest, content: attachment.content)
    }

    /// Makes the document a tombstone: `_id`, `_rev` and `_deleted`.
    mutating func delete() throws(ActionError) {
        var writer = JSONWriter()
        writer.object { writer in
            for name in ["_id", "_rev"] {
                if let value = document.root[name] { writer.member(name, raw: value.bytes) }
            }
            writer.member("_deleted", bool: true)
        }
        do throws(JSONError) { document = try JSONText(writer.bytes) } catch { throw .failed("\(error)") }
        attachments = [:]
        isDeleted = true
    }
}
