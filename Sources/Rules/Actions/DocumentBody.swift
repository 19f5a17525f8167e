internal import LosslessJSON

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
