package import LosslessJSON

/// A document that the rules are to decide about, and how it came to be looked at.
package struct DecisionInput: Sendable {
    package let document: JSONText
    /// Whether it is a tombstone.
    package let isDeleted: Bool
    /// Where the feed has it, as JSON; nil if it did not come from a feed.
    package let sequence: [UInt8]?

    package init(_ document: JSONText, isDeleted: Bool = false, sequence: [UInt8]? = nil) {
        self.document = document
        self.isDeleted = isDeleted
        self.sequence = sequence
    }

    /// What programs know as `$change`: `seq`, `id`, `rev`, `deleted`.
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
