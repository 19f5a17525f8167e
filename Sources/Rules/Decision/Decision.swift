package import LosslessJSON

/// What the rules want of one document.
package struct Decision: Sendable {
    /// Why there is no decision. The document is to be dead-lettered, not written.
    package struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        /// The rule that could not be carried out; nil if it is none in particular.
        package let rule: String?
        package let reason: String
        /// Nothing is wrong with the document or the rule: the machine could not run a program now.
        package let isPassing: Bool

        init(rule: String?, reason: String, isPassing: Bool = false) {
            self.rule = rule
            self.reason = reason
            self.isPassing = isPassing
        }

        package var description: String { rule.map { "rule '\($0)': \(reason)" } ?? reason }
    }

    /// A rule of `on_error: skip` that failed: the decision was made as if it were not there.
    package struct Skip: Sendable, Equatable, CustomStringConvertible {
        /// The name of the rule.
        package let rule: String
        package let reason: String

        package var description: String { "rule '\(rule)': \(reason)" }
    }

    /// The rules whose conditions held, by their index in ``RuleSet/names``, each once, in the order in which they
    /// first did. Also those that changed nothing.
    package internal(set) var fired: [Int] = []
    /// The document as the rules leave it, with placeholders for the ``attachments``; as it came if there is a fault.
    package internal(set) var document: JSONText
    /// Whether the document has to be written.
    package internal(set) var isChanged = false
    /// What the rules attached, by name. What was there before is not in it.
    package internal(set) var attachments: [ExactString: Attachment] = [:]
    /// Other documents that are to be written before this one is, in this order.
    package internal(set) var puts: [PutEffect] = []
    /// Whether the document is to become a tombstone; in a mapping, whether it is dropped.
    package internal(set) var isDeletion = false
    /// Whether a mapping made it: what it gives is ``mapped``.
    package internal(set) var isMapping = false
    package internal(set) var fault: Fault?
    /// The rules that failed and were skipped, in the order in which they failed, each once.
    package internal(set) var skipped: [Skip] = []

    init(_ document: JSONText) { self.document = document }
}

extension Decision {
    private var body: DocumentBody { DocumentBody(document, attachments) }

    /// The document as `_bulk_docs` takes it: its bytes, with the content of the ``attachments`` where their
    /// placeholders are.
    package func bodySegments() -> [[UInt8]] { body.segments() }

    /// How many bytes ``bodySegments()`` are in all.
    package var bodyLength: Int { body.length }
}
