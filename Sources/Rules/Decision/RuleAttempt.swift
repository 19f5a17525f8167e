internal import JQ
internal import LosslessJSON

/// One rule applied to one document: its condition, then its actions one by one. Its work takes effect only when all of
/// it is done.
struct RuleAttempt {
    enum Outcome {
        case continues, fires, doesNotFire
    }

    /// The largest document that an action may produce. Gateways accept 8 MB (CouchDB's default) to 20 MiB (Sync
    /// Gateway).
    static let lengthLimit = 32 << 20

    let rule: Rule
    let index: Int
    private var trial: Draft
    private var isCleared: Bool
    /// How many actions are done.
    private var done = 0

    /// - Precondition: The rule's selectors hold for the draft.
    init(_ rule: Rule, _ index: Int, _ draft: Draft) {
        self.rule = rule
        self.index = index
        trial = draft
        trial.puts = []
        isCleared = rule.condition == nil
    }

    /// The document after the actions so far: what programs see.
    var document: JSONText { trial.document }

    /// The programs whose outcomes the next step needs.
    var programs: [Int] {
        if !isCleared { return rule.condition.map { [$0] } ?? [] }
        return done < rule.then.count ? rule.then[done].programs : []
    }

    /// Takes the next step.
    ///
    /// - Parameter outcomes: Those of ``programs``.
    mutating func proceed(_ outcomes: [JQOutcome]) throws(DecisionError) -> Outcome {
        guard isCleared else { return try clear(outcomes) }
        var outputs: [[JSONText]] = []
        for outcome in outcomes {
            switch outcome {
            case .outputs(let texts): outputs.append(texts)
            case .failed(let error):
                throw DecisionError(
                    rule: rule.name, reason: "\(rule.then[done].name): \(error)", isTemporary: error.isTemporary)
            }
        }
        guard done < rule.then.count else { return .fires }
        let length = trial.document.bytes.count
        do throws(ActionError) { try rule.then[done].apply(to: &trial, outputs) } catch {
            switch error {
            case .doesNotApply: return .doesNotFire
            case .failed(let reason): throw DecisionError(rule: rule.name, reason: reason)
            }
        }
        if trial.document.bytes.count > max(Self.lengthLimit, length) {
            throw DecisionError(
                rule: rule.name,
                reason: "\(rule.then[done].name): the document becomes larger than \(Self.lengthLimit >> 20) MiB, "
                    + "which no gateway takes; write less into it")
        }
        done += 1
        return done < rule.then.count ? .continues : .fires
    }

    /// Evaluates the rule's `if:`.
    private mutating func clear(_ outcomes: [JQOutcome]) throws(DecisionError) -> Outcome {
        isCleared = true
        switch outcomes.first.map(ConditionOutcome.init) {
        case .holds: return .continues
        case .fails, nil: return .doesNotFire
        case .failed(let reason, let isTemporary):
            throw DecisionError(rule: rule.name, reason: reason, isTemporary: isTemporary)
        }
    }

    /// The draft with the rule's work. Its puts replace this rule's earlier puts of the same documents.
    func draft(onto draft: Draft) -> Draft {
        var result = trial
        let wanted = trial.puts.map { put in
            var put = put
            put.rule = index
            return put
        }
        let replaced = draft.puts.filter { old in
            !(old.rule == index && wanted.contains { $0.isOfSameDocument(as: old) })
        }
        result.puts = replaced + wanted
        return result
    }
}

/// The result of a rule's `if:` for a document.
enum ConditionOutcome {
    case holds
    case fails
    case failed(String, isTemporary: Bool)

    /// As in jq: everything but false and null is true. No output is false.
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

/// A document while rules change it, and the other documents that they want.
struct Draft {
    var document: JSONText
    /// The attachments behind the document's placeholders, by name.
    var attachments: [ExactString: Attachment] = [:]
    /// Other documents, in the order in which rules first wanted them.
    var puts: [PutEffect] = []
    /// The document is a tombstone now: no other rule applies.
    private(set) var isDeleted = false

    init(document: JSONText) { self.document = document }

    /// Makes it a tombstone: `_id`, `_rev` and `_deleted`.
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
