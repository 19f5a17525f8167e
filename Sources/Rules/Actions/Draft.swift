internal import LosslessJSON

/// A document while rules work on it, and what they want beside it.
struct Draft {
    var document: JSONText
    /// What the document's placeholders stand for, by attachment name.
    var attachments: [ExactString: Attachment] = [:]
    /// Other documents, in the order in which rules first asked for them.
    var puts: [PutEffect] = []
    /// The document is a tombstone now: nothing more can happen to it.
    private(set) var isDeleted = false

    init(document: JSONText) { self.document = document }

    /// Makes it a tombstone: `_id`, `_rev` and `_deleted`.
    mutating func delete() throws(ActionFault) {
        var writer = JSONWriter()
        writer.object { writer in
            for name in ["_id", "_rev"] {
                if let value = document.root[name] { writer.member(name, raw: value.bytes) }
            }
            writer.member("_deleted", bool: true)
        }
        do throws(JSONFault) { document = try JSONText(writer.bytes) } catch { throw .failed("\(error)") }
        attachments = [:]
        isDeleted = true
    }
}
