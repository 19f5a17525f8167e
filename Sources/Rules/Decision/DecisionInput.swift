package import LosslessJSON

/// A document to decide, and how it was found.
package struct DecisionInput: Sendable {
    /// The document as the feed delivered it, without `_cv`. In a mapping, the document in the file.
    package let document: JSONText
    /// Whether it is a tombstone.
    package let isDeleted: Bool
    /// Its sequence in the feed, as JSON. Nil if it is not from a feed.
    package let sequence: [UInt8]?
    /// The times for which rules with `at:` have already fired, by rule name.
    package let firedTimes: [String: Int]
    /// The states of the document that rules last saw, by rule name.
    package let lastSeen: [String: LastSeen]
    /// The numbers of these rules in the state, by rule name. They are part of the keys of first edges.
    package let ruleNumbers: [String: Int]
    /// Whether it can't be seen any longer: only rules with `leave` apply.
    package let isLost: Bool
    /// Whether rules with `changed`, `enter` or `leave` only look at it, without firing, and no other rule applies.
    package let onlyLearns: Bool
    /// Whether only rules with `aggregate` apply. The other rules apply only to changes.
    package let countsOnly: Bool
    /// Whether it has other leaf revisions. Rules with `resolve` then apply first; if one fires, no other rule applies.
    package let isInConflict: Bool

    /// What only tests of rules set.
    struct Test: Sendable {
        /// The names of the rules that take part. Nil: all.
        var participants: Set<String>?
        /// Records what the rules evaluate.
        var recorder: CoverageRecorder?
    }

    var test = Test()

    /// The changed document that this one is related to.
    struct Source: Sendable {
        /// The programs' `$source`.
        let document: JSONText
        /// The programs' `$change`.
        let change: [UInt8]
        /// The values of further variables.
        let locals: [(name: String, json: [UInt8])]
    }

    /// Nil unless the document is decided as a related document.
    let source: Source?

    var recorder: CoverageRecorder? { test.recorder }

    /// The document's id before the rules run. Empty if it has none.
    var id: String { document.root["_id"]?.string ?? "" }

    /// - Parameters:
    ///   - sequence: As JSON text. Nil if the document is not from a feed.
    ///   - firedTimes: As ``firedTimes``. Default: none.
    ///   - lastSeen: As ``lastSeen``. Default: all rules see it for the first time.
    ///   - ruleNumbers: As ``ruleNumbers``. Default: 0 for all rules.
    package init(
        _ document: JSONText, isDeleted: Bool = false, sequence: [UInt8]? = nil, firedTimes: [String: Int] = [:],
        lastSeen: [String: LastSeen] = [:], ruleNumbers: [String: Int] = [:], isLost: Bool = false,
        onlyLearns: Bool = false, countsOnly: Bool = false, isInConflict: Bool = false
    ) {
        self.document = document
        self.isDeleted = isDeleted
        self.sequence = sequence
        self.firedTimes = firedTimes
        self.lastSeen = lastSeen
        self.ruleNumbers = ruleNumbers
        self.isLost = isLost
        self.onlyLearns = onlyLearns
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
        lastSeen = [:]
        ruleNumbers = [:]
        isLost = false
        onlyLearns = false
        countsOnly = false
        isInConflict = false
    }

    var visibility: EdgeCondition.Visibility { isDeleted ? .deleted : isLost ? .lost : .present }

    /// The values of the programs' additional variables.
    var locals: [(name: String, json: [UInt8])] {
        source.map { [(RelatedEffect.sourceName, $0.document.bytes)] + $0.locals } ?? []
    }

    /// The programs' `$change`: an object with `seq`, `id`, `rev`, `deleted`, `edge`.
    ///
    /// - Parameter edge: ``Edge/id(rule:of:)`` of the edge for which the rule fires. Nil without one.
    func change(edge: String?) -> [UInt8] {
        if let source { return source.change }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("seq", raw: sequence ?? Self.null)
            writer.member("id", raw: document.root["_id"]?.bytes ?? Self.null[...])
            writer.member("rev", raw: document.root["_rev"]?.bytes ?? Self.null[...])
            writer.member("deleted", bool: isDeleted)
            if let edge { writer.member("edge", string: edge) } else { writer.member("edge", raw: Self.null) }
        }
        return writer.bytes
    }

    private static let null = Array("null".utf8)
}
