package import LosslessJSON

/// What the rules want of one document.
package struct Decision: Sendable {
    /// Why there is no decision. The document is to be set aside, not written.
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

    /// The rules whose conditions held, by their index in ``RuleSet/names``, each once, in the order in which they
    /// first did. Also those that changed nothing.
    package internal(set) var fired: [Int] = []
    /// The document as the rules leave it, with placeholders for the ``attachments``; as it came if there is a fault.
    package internal(set) var document: JSONText
    /// Whether the document has to be written.
    package internal(set) var isChanged = false
    /// What the rules attached, by name. What was there before is not in it.
    package internal(set) var attachments: [String: Attachment] = [:]
    /// Other documents that are to be written before this one is, in this order.
    package internal(set) var puts: [PutEffect] = []
    /// Whether the document is to become a tombstone.
    package internal(set) var isDeletion = false
    package internal(set) var fault: Fault?

    init(_ document: JSONText) { self.document = document }
}

extension Decision {
    /// The document as `_bulk_docs` takes it: its bytes, with the content of the ``attachments`` where their
    /// placeholders are.
    ///
    /// The base64 of an attachment is a segment of its own and shares the storage of ``AttachmentContent/base64``, so a
    /// thousand documents with one picture hold it once.
    package func bodySegments() -> [[UInt8]] {
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

    /// How many bytes ``bodySegments()`` are in all.
    package var bodyLength: Int {
        placeholders.reduce(document.bytes.count) { count, placeholder in
            count - placeholder.range.count + placeholder.attachment.sentPrefix.count
                + placeholder.attachment.content.base64.count + Attachment.sentSuffix.count
        }
    }

    /// In the order of the text.
    private var placeholders: [(range: Range<Int>, attachment: Attachment)] {
        guard !attachments.isEmpty, let members = document.root["_attachments"] else { return [] }
        return attachments.compactMap { name, attachment in members[name].map { ($0.range, attachment) } }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
    }
}
