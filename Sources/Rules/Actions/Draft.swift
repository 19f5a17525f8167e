internal import LosslessJSON

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
