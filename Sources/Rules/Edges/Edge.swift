internal import Encodings
internal import LosslessJSON

/// The difference between two states of a document that makes a rule with `changed`, `enter` or `leave` fire.
package struct Edge: Sendable, Equatable {
    /// What happened.
    package enum Kind: String, Sendable {
        /// A member in `changed` has a new value.
        case change
        /// The document now matches the rule.
        case enter
        /// It no longer matches, is deleted, or is no longer visible.
        case leave
        /// No difference: the rule fires for any change or deletion.
        case none
    }

    package let kind: Kind
    /// Identifies the edge among those of the rule and the document. After a crash it is the same if the compared values
    /// are, even if the revision has changed. Nil without a difference: the revision identifies it.
    package let key: String?
    /// The names of the members in `changed` that differ. If the rule sees the document for the first time: those that
    /// the document has.
    package let changed: [String]
    /// The earlier values, as an object. Null if the rule sees the document for the first time.
    let before: [UInt8]

    /// - Parameter last: The number of the edge before: ``LastSeen/edge``, or that of the rule in the state.
    init(_ kind: Kind, after last: UInt64, now: [MemberDigest], changed: [String], before: [UInt8]) {
        self.kind = kind
        let to = kind == .leave ? "" : now.map { String($0.bits, radix: 16) }.joined(separator: ",")
        key = kind == .none ? nil : "\(kind.rawValue):\(String(last, radix: 16)):\(to)"
        self.changed = changed
        self.before = before
    }

    private init() { (kind, key, changed, before) = (.none, nil, [], Array("null".utf8)) }

    /// The value for a document without a known earlier state.
    static let nothing = Edge()

    /// The names of the additional variables in the programs of such rules.
    static let variables = ["changed", "before"]

    /// The values of these variables, as JSON.
    var locals: [(name: String, json: [UInt8])] {
        var list = JSONWriter()
        list.array { list in for name in changed { list.string(name) } }
        return [("changed", list.bytes), ("before", before)]
    }

    /// `$change.edge`: 24 hexadecimal digits that identify the edge among those of all rules and documents. Without a
    /// difference, they identify the revision.
    func id(rule: String, of document: JSONText) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            writer.string(rule)
            writer.string(document.root["_id"]?.string ?? "")
            writer.string(key ?? document.root["_rev"]?.string ?? "")
        }
        return String(Digest.sha256.hex(writer.bytes).prefix(24))
    }

    /// ``LastSeen/edge`` after this one has fired on a revision.
    func next(after last: LastSeen?, revision: String) -> UInt64 {
        guard let key else { return last?.edge ?? 0 }
        return max(1, MemberDigest.of("\(last?.edge ?? 0) \(key) \(revision)"))
    }
}
