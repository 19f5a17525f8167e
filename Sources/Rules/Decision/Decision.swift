package import LosslessJSON

/// What the rules decided for one document.
package struct Decision: Sendable {
    /// A rule with `on_error: skip` that failed. The decision was made without it.
    package struct Skip: Sendable, Equatable, CustomStringConvertible {
        /// The name of the rule.
        package let rule: String
        /// What is wrong, for the user, without the rule's name.
        package let reason: String

        /// `rule 'NAME': REASON`.
        package var description: String { "rule '\(rule)': \(reason)" }
    }

    /// The rules that fired, as indexes in ``RuleSet/names``, each once, in the order of their first firing. Includes
    /// rules that changed nothing.
    package internal(set) var fired: [Int] = []
    /// The document as the rules left it, with placeholders for the ``attachments``. As it arrived if there is an
    /// error.
    package internal(set) var document: JSONText
    /// What becomes of the document.
    var result = Result.unchanged
    /// The attachments that the rules added, by name. Excludes earlier ones.
    package internal(set) var attachments: [ExactString: Attachment] = [:]
    /// What to do before the document is written, in this order.
    package internal(set) var effects = Effects()
    /// What the state must record about rules with a memory.
    var records = Records()
    /// For what rules with a memory fired.
    var reasons = Reasons()
    /// The rules, by index, whose webhook answers changed the document, in order.
    package internal(set) var answered: [Int] = []
    /// What the document adds to totals, at most once for each rule with `aggregate`. Other rules with `aggregate`
    /// subtract what the document added before.
    package internal(set) var contributions: [Contribution] = []
    /// Whether this is a mapping's decision: then ``mapped`` is its result.
    package internal(set) var isMapping = false
    /// Whether the decision was made.
    var status = Status.made
    /// The rules that failed and were skipped, each once, in the order of failure.
    package internal(set) var skipped: [Skip] = []

    enum Result {
        case unchanged
        /// `last`: the last rule, by index, that changed or deleted it. Nil if a mapping drops what no rule matches.
        case changed(last: Int?)
        case deleted(last: Int?)
    }

    struct Records {
        var times: [RuleTime] = []
        var seen: [SeenByRule] = []
    }

    /// By the index of the rule.
    struct Reasons {
        var times: [Int: Int] = [:]
        var edges: [Int: Edge] = [:]
    }

    /// Why a document must be decided again.
    package enum Deferral: Sendable {
        /// Its programs are slow, and other documents need not wait for them.
        case slow
        /// Its effects take much memory: it must be decided alone.
        case large
        /// The effects of other documents take much memory.
        case crowded
    }

    enum Status {
        case made
        case deferred(Deferral)
        case failed(DecisionError)
    }

    init(_ document: JSONText) { self.document = document }

    static func deferred(_ document: JSONText, _ reason: Deferral) -> Decision {
        var decision = Decision(document)
        decision.status = .deferred(reason)
        return decision
    }

    /// - Parameter reason: Why the document can't be decided now.
    static func undecided(_ document: JSONText, _ reason: String) -> Decision {
        var decision = Decision(document)
        decision.status = .failed(DecisionError(rule: nil, reason: reason, isTemporary: true))
        return decision
    }

    /// Why a document with two members of this name is not written.
    static func duplicateReason(_ name: String) -> String {
        "two members are named '\(name)'; gateways keep only one of them, so writing the document "
            + "could lose the right one"
    }
}

/// Why a decision failed. The document must be dead-lettered, not written.
package struct DecisionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the rule that failed. Nil if the error is not about a single rule.
    package let rule: String?
    /// What is wrong, for the user, without the rule's name.
    package let reason: String
    /// Whether the failure is temporary: the machine could not run a program, or the run is ending. Document and rule
    /// are valid.
    package let isTemporary: Bool
    /// The delay before the document is decided again after a failed download. Nil for other errors.
    package let wait: Duration?

    init(rule: String?, reason: String, isTemporary: Bool = false, wait: Duration? = nil) {
        self.rule = rule
        self.reason = reason
        self.isTemporary = isTemporary
        self.wait = wait
    }

    /// `rule 'NAME': REASON`, or the reason alone.
    package var description: String { rule.map { "rule '\($0)': \(reason)" } ?? reason }
}

// MARK: - The result

extension Decision {
    /// Whether the document must be written.
    package var isChanged: Bool { if case .unchanged = result { false } else { true } }

    /// Whether the document becomes a tombstone. In a mapping, whether the document is dropped.
    package var isDeletion: Bool { if case .deleted = result { true } else { false } }

    /// Why the decision failed. Nil if the decision is valid. If set, nothing of this decision may be written.
    package var error: DecisionError? { if case .failed(let error) = status { error } else { nil } }

    /// Why the decision was deferred; nil if it was not.
    package var deferral: Deferral? { if case .deferred(let reason) = status { reason } else { nil } }
}

// MARK: - Rules with a memory

extension Decision {
    /// The times of rules with `at:`, evaluated on the document as the rules left it, in the order of the rules.
    /// Includes future times and times for which a rule has fired.
    package var times: [RuleTime] { records.times }

    /// The states of the resulting document that rules with `changed`, `enter` or `leave` saw, if they differ from the
    /// earlier ones.
    package var seen: [SeenByRule] { records.seen }

    /// The times for which rules with `at:` fired, by rule index.
    package var firedTimes: [Int: Int] { reasons.times }

    /// The edges for which rules with `changed`, `enter` or `leave` fired, by rule index.
    package var firedEdges: [Int: Edge] { reasons.edges }
}

// MARK: - Kinds of effects

extension Decision {
    /// Other documents to write.
    package var puts: [PutEffect] { effects.of(PutEffect.self) }

    /// What to do to documents that selectors match.
    package var related: [RelatedEffect] { effects.of(RelatedEffect.self) }

    /// What to do outside the database.
    package var outside: [OutsideEffect] { effects.of(OutsideEffect.self) }

    /// How to resolve the document's conflict. If set, nothing else is done: the document is decided again after it is
    /// resolved.
    package var resolution: ResolveEffect? { effects.of(ResolveEffect.self).first }
}

// MARK: - For the write

extension Decision {
    /// The document as sent to `_bulk_docs`: with the contents of the ``attachments`` in place of their placeholders.
    package func bodySegments() -> [[UInt8]] { DocumentBody(document, attachments).segments() }

    /// A decision on the result of an earlier one, with the attachments of both.
    package func after(_ earlier: Decision?) -> Decision {
        guard let earlier else { return self }
        var both = self
        both.attachments.merge(earlier.attachments) { own, _ in own }
        return both
    }
}

/// A document as sent to `_bulk_docs`: with the contents of attachments in place of their placeholders.
package struct DocumentBody: Sendable {
    private let document: JSONText
    private let attachments: [ExactString: Attachment]

    /// - Parameters:
    ///   - document: With a placeholder for each attachment.
    ///   - attachments: By name.
    init(_ document: JSONText, _ attachments: [ExactString: Attachment]) {
        self.document = document
        self.attachments = attachments
    }

    /// The body in segments, to be sent in order.
    ///
    /// The base64 of an attachment is a separate segment that shares the storage of ``AttachmentContent/base64``: a
    /// thousand documents with one picture hold it once.
    package func segments() -> [[UInt8]] {
        var segments: [[UInt8]] = []
        var text: [UInt8] = []
        var copied = 0
        for (range, attachment) in placeholders {
            text += document.bytes[copied..<range.lowerBound]
            text += attachment.sentPrefix
            segments.append(text)
            segments.append(attachment.content.base64)
            text = Attachment.sentSuffix
            copied = range.upperBound
        }
        guard !segments.isEmpty else { return [document.bytes] }
        segments.append(text + document.bytes[copied...])
        return segments
    }

    /// In the order of the text.
    private var placeholders: [(range: Range<Int>, attachment: Attachment)] {
        guard !attachments.isEmpty, let members = document.root["_attachments"] else { return [] }
        return attachments.compactMap { name, attachment in members[name.text].map { ($0.range, attachment) } }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
    }
}
