package import LosslessJSON

/// A document produced by a mapping, ready to be written.
package struct MappedDocument: Sendable {
    /// The text of its `_id`, never empty.
    package let id: String
    /// The document, with placeholders for the ``attachments``.
    package let document: JSONText
    /// The attachments that the mapping added, by name.
    package let attachments: [ExactString: Attachment]

    /// The document as sent to `_bulk_docs`, with the contents of the attachments.
    package var body: DocumentBody { DocumentBody(document, attachments) }
}

extension Decision {
    /// The result of a mapping for one document: the documents that it puts, in the order of the rules, and then the
    /// document itself, unless a rule deleted it. Documents that it may refer to are therefore written first.
    ///
    /// Empty if there is an error.
    package var mapped: [MappedDocument] {
        guard error == nil else { return [] }
        let others = puts.map { MappedDocument(id: $0.id, document: $0.document, attachments: [:]) }
        guard !isDeletion, let id = document.root["_id"]?.string else { return others }
        return others + [MappedDocument(id: id, document: document, attachments: attachments)]
    }

    /// Drops attachments whose placeholders were removed or overwritten by a later rule.
    mutating func dropLostAttachments() {
        let members = document.root["_attachments"]
        attachments = attachments.filter { name, attachment in
            members?[name.text]?.bytes.elementsEqual(attachment.stub) == true
        }
    }

    /// Why the ``mapped`` documents can't be written. Nil if they can.
    ///
    /// - Parameter names: The names of the rules that fired.
    func mappingError(fired names: [String]) -> DecisionError? {
        let after = names.isEmpty ? "no rule fired for it" : "after \(names.joined(separator: ", "))"
        if !isDeletion, document.root["_id"]?.string?.isEmpty != false {
            return DecisionError(
                rule: nil,
                reason: "the document has no '_id' that is text (\(after)); give it one with merge: { _id: { jq: … } "
                    + "}, or drop it with delete: {}")
        }
        var ids: Set<[UInt8]> = []
        for output in mapped {
            guard !ids.insert(Array(output.id.utf8)).inserted else { continue }
            return DecisionError(
                rule: nil,
                reason: "it produces two documents with the '_id' '\(output.id)' "
                    + "(\(after))")
        }
        return nil
    }
}
