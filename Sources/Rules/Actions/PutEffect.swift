package import LosslessJSON

/// Another document that a rule wants written, before the changed one is.
package struct PutEffect: Sendable {
    /// What to do with a document that is there already.
    package enum Existing: String, Sendable {
        case keep
        /// All of it but its attachments.
        case replace
        /// As a JSON Merge Patch (RFC 7396).
        case merge
    }

    package let id: String
    /// Another keyspace of the same server; nil: the one of the changed document.
    package let keyspace: String?
    /// With its `_id`, without `_rev`.
    package let document: JSONText
    package let ifExists: Existing
    /// The rule that wants it, by its index.
    package internal(set) var rule = 0

    /// Whether the two are to be written to one document.
    func isOfSameDocument(as other: PutEffect) -> Bool {
        id.isSame(as: other.id) && keyspace.map { ExactString($0) } == other.keyspace.map { ExactString($0) }
    }

    /// What to write where there is no such document.
    package var newDocument: JSONText {
        get throws(JSONEditFault) {
            guard ifExists == .merge else { return document }
            let empty: JSONText
            do throws(JSONFault) { empty = try JSONText("{}") } catch { throw .invalidValue(error) }
            return try empty.merging(document.root)
        }
    }

    /// What to write over a document that is there.
    ///
    /// - Parameter current: With `_id` and `_rev`.
    /// - Returns: Nil if that is as it should be already.
    /// - Throws: `JSONEditFault` where an edit would be a guess.
    package func write(over current: JSONText) throws(JSONEditFault) -> JSONText? {
        let wanted: JSONText
        switch ifExists {
        case .keep: return nil
        case .merge: wanted = try current.merging(document.root)
        case .replace:
            var replacement = document
            for name in ["_rev", "_attachments"] {
                guard let value = current.root[name] else { continue }
                replacement = try replacement.setting(JSONPointer(tokens: [name]), to: value.bytes)
            }
            wanted = replacement
        }
        return wanted.root.isEquivalent(to: current.root) ? nil : wanted
    }
}
