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
    /// Other documents to write before this one, in this order.
    package internal(set) var puts: [PutEffect] = []
    /// Whether the document becomes a tombstone; in a mapping, whether it is dropped.
    package internal(set) var isDeletion = false
    /// Whether this is a mapping's decision: then ``mapped`` is its result.
    package internal(set) var isMapping = false
    /// Why nothing was decided; nil if the decision is valid. If set, nothing of this decision may be written.
    package internal(set) var error: DecisionError?
    /// The rules that failed and were skipped, in the order in which they failed, each once.
    package internal(set) var skipped: [Skip] = []

    init(_ document: JSONText) { self.document = document }
}

extension Decision {
    private var body: DocumentBody { DocumentBody(document, attachments) }

    /// The document as `_bulk_docs` takes it: with the contents of the ``attachments`` in place of their placeholders.
    package func bodySegments() -> [[UInt8]] { body.segments() }
}

/// Why there is no decision. The document must be dead-lettered, not written.
package struct DecisionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the rule that failed; nil if it is no single rule.
    package let rule: String?
    /// For the user: what is wrong, without the rule's name.
    package let reason: String
    /// The document and the rule are all right: the machine could not run a program at the moment.
    package let isTemporary: Bool

    init(rule: String?, reason: String, isTemporary: Bool = false) {
        self.rule = rule
        self.reason = reason
        self.isTemporary = isTemporary
    }

    /// `rule 'NAME': REASON`, or the reason alone.
    package var description: String { rule.map { "rule '\($0)': \(reason)" } ?? reason }
}
