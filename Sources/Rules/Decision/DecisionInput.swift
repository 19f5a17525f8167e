package import LosslessJSON

/// A document for the rules to decide about, and how it was found.
package struct DecisionInput: Sendable {
    /// As the feed brought it, without `_cv`; in a mapping, as the file has it.
    package let document: JSONText
    /// Whether it is a tombstone.
    package let isDeleted: Bool
    /// Its sequence in the feed, as JSON; nil if it is not from a feed.
    package let sequence: [UInt8]?

    /// - Parameter sequence: As JSON text; nil if the document is not from a feed.
    package init(_ document: JSONText, isDeleted: Bool = false, sequence: [UInt8]? = nil) {
        self.document = document
        self.isDeleted = isDeleted
        self.sequence = sequence
    }

    /// The programs' `$change`: an object with `seq`, `id`, `rev`, `deleted`.
    var change: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("seq", raw: sequence ?? Self.null)
            writer.member("id", raw: document.root["_id"]?.bytes ?? Self.null[...])
            writer.member("rev", raw: document.root["_rev"]?.bytes ?? Self.null[...])
            writer.member("deleted", bool: isDeleted)
        }
        return writer.bytes
    }

    private static let null = Array("null".utf8)
}
