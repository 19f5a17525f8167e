package import LosslessJSON

/// A document for the rules to decide about, and how it was found.
package struct DecisionInput: Sendable {
    /// As the feed brought it, without `_cv`; in a mapping, as the file has it.
    package let document: JSONText
    /// Whether it is a tombstone.
    package let isDeleted: Bool
    /// Its sequence in the feed, as JSON; nil if it is not from a feed.
    package let sequence: [UInt8]?
    /// For rules with `at:`, by name, the time for which they have fired already.
    package let firedTimes: [String: Int]
    /// Whether only rules with `aggregate` apply: the others decide about changes only.
    package let countsOnly: Bool
    /// Whether it has other leaf revisions: then rules with `resolve` apply first, and if one of them fires, no other.
    package let isInConflict: Bool

    /// For a document that is related to a changed one.
    struct Source: Sendable {
        /// The programs' `$source`.
        let document: JSONText
        /// The programs' `$change`.
        let change: [UInt8]
    }

    /// Nil unless the document is decided because another one has changed.
    let source: Source?

    /// The document's, as the rules find it; empty if it has none.
    var id: String { document.root["_id"]?.string ?? "" }

    /// - Parameters:
    ///   - sequence: As JSON text; nil if the document is not from a feed.
    ///   - firedTimes: As ``firedTimes``. Default: none.
    package init(
        _ document: JSONText, isDeleted: Bool = false, sequence: [UInt8]? = nil, firedTimes: [String: Int] = [:],
        countsOnly: Bool = false, isInConflict: Bool = false
    ) {
        self.document = document
        self.isDeleted = isDeleted
        self.sequence = sequence
        self.firedTimes = firedTimes
        self.countsOnly = countsOnly
        self.isInConflict = isInConflict
        source = nil
    }

    /// A document that is related to a changed one.
    init(_ document: JSONText, source: Source) {
        self.document = document
        self.source = source
        isDeleted = false
        sequence = nil
        firedTimes = [:]
        countsOnly = false
        isInConflict = false
    }

    /// The values of variables that programs have besides the common ones.
    var locals: [(name: String, json: [UInt8])] {
        source.map { [(RelatedEffect.sourceName, $0.document.bytes)] } ?? []
    }

    /// The programs' `$change`: an object with `seq`, `id`, `rev`, `deleted`.
    var change: [UInt8] {
        if let source { return source.change }
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
