package import LosslessJSON

/// What the rules want to do about one document.
package struct Decision: Sendable {
    /// A rule with `on_error: skip` that failed: the decision was made without it.
    package struct Skip: Sendable, Equatable, CustomStringConvertible {
        /// The name of the rule.
        package let rule: String
        /// For the user: what is wrong, without the rule's name.
        package let reason: String

        /// `rule 'NAME': REASON`.
        package var description: String { "rule '\(rule)': \(reason)" }
    }

    /// The rules whose conditions held, as indexes in ``RuleSet/names``, each once, in the order in which they first
    /// did. Includes those that changed nothing.
    package internal(set) var fired: [Int] = []
    /// The document as the rules leave it, with placeholders for the ``attachments``; as it arrived if there is a
    /// error.
    package internal(set) var document: JSONText
    /// Whether the document must be written.
    package internal(set) var isChanged = false
    /// What the rules attached, by name; without earlier attachments.
    package internal(set) var attachments: [ExactString: Attachment] = [:]
    /// Attachments of the gateway that may have the content of one of the ``attachments``: then it need not be sent.
    var unknown: [StoredAttachment] = []
    /// What to do before this one is written, in this order.
    package internal(set) var effects = Effects()
    /// The times of rules with `at:`, on the document as the rules leave it, in the order of the rules: those to come, and
    /// those for which a rule has fired.
    package internal(set) var times: [RuleTime] = []
    /// For rules with `at:` that fired, by index, the time for which they did.
    package internal(set) var firedTimes: [Int: Int] = [:]
    /// The rules, by index, whose receivers' answers changed the document, in order.
    package internal(set) var answered: [Int] = []
    /// What the document, as the rules leave it, adds to totals: at most one for each rule with `aggregate`. The rules
    /// that are not among them take back what it added before.
    package internal(set) var contributions: [Contribution] = []
    /// Whether the document becomes a tombstone; in a mapping, whether it is dropped.
    package internal(set) var isDeletion = false
    /// Whether this is a mapping's decision: then ``mapped`` is its result.
    package internal(set) var isMapping = false
    /// Why nothing was decided; nil if the decision is valid. If set, nothing of this decision may be written.
    package internal(set) var error: DecisionError?
    /// The rules that failed and were skipped, in the order in which they failed, each once.
    package internal(set) var skipped: [Skip] = []

    /// Whether the document is still to be decided, because its programs are slow and other documents need not wait for
    /// them.
    package internal(set) var isPutOff = false

    init(_ document: JSONText) { self.document = document }

    static func putOff(_ document: JSONText) -> Decision {
        var decision = Decision(document)
        decision.isPutOff = true
        return decision
    }

    /// - Parameter reason: Why the document can't be decided at the moment.
    static func undecided(_ document: JSONText, _ reason: String) -> Decision {
        var decision = Decision(document)
        decision.error = DecisionError(rule: nil, reason: reason, isTemporary: true)
        return decision
    }

    /// Why a document with two members of this name is not written.
    static func duplicateReason(_ name: String) -> String {
        "two members are named '\(name)'; gateways keep only one of them, so writing the document "
            + "could lose the right one"
    }
}

/// Why there is no decision. The document must be dead-lettered, not written.
package struct DecisionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the rule that failed; nil if it is no single rule.
    package let rule: String?
    /// For the user: what is wrong, without the rule's name.
    package let reason: String
    /// The document and the rule are all right: the machine could not run a program at the moment, or the run ends.
    package let isTemporary: Bool
    /// The document and the rule are all right, and the document is to be decided again after this time: a download
    /// failed. Nil: not so.
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

// MARK: - Kinds of effects

extension Decision {
    /// Other documents to write.
    package var puts: [PutEffect] { effects.of(PutEffect.self) }

    /// What to do to documents that selectors match.
    package var related: [RelatedEffect] { effects.of(RelatedEffect.self) }

    /// What to do outside the database.
    package var outside: [OutsideEffect] { effects.of(OutsideEffect.self) }

    /// What to do about the conflicting leaf revisions of the document. Then nothing else is to be done: the document is
    /// decided again once it is resolved.
    package var resolution: ResolveEffect? { effects.of(ResolveEffect.self).first }
}

// MARK: - For the write

extension Decision {
    /// The document as `_bulk_docs` takes it: with the contents of the ``attachments`` in place of their placeholders.
    package func bodySegments() -> [[UInt8]] { DocumentBody(document, attachments).segments() }

    /// A decision on the document as an earlier one left it, with the attachments of both.
    package func after(_ earlier: Decision?) -> Decision {
        guard let earlier else { return self }
        var both = self
        both.attachments.merge(earlier.attachments) { own, _ in own }
        return both
    }
}

/// A document as `_bulk_docs` takes it: with the contents of attachments in place of their placeholders.
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

    /// The body in parts, to be sent one after the other.
    ///
    /// The base64 of an attachment is a segment of its own that shares the storage of ``AttachmentContent/base64``: a
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
