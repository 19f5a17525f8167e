package import LosslessJSON

/// Another document that a rule wants written before the changed one.
package struct PutEffect: Sendable {
    /// What to do if the document exists already.
    package enum Existing: String, Sendable {
        case keep
        /// Replace everything except its attachments.
        case replace
        /// Apply the document as a JSON Merge Patch (RFC 7396).
        case merge
    }

    /// The text of the document's `_id`.
    package let id: String
    /// Another keyspace of the same server; nil: that of the changed document.
    package let keyspace: String?
    /// With its `_id`, without `_rev`.
    package let document: JSONText
    /// Default in rule files: `keep`.
    package let ifExists: Existing
    /// The index of the rule that wants it.
    package internal(set) var rule = 0

    /// Whether both mean the same document.
    func isOfSameDocument(as other: PutEffect) -> Bool {
        id.isSame(as: other.id) && keyspace.map { ExactString($0) } == other.keyspace.map { ExactString($0) }
    }

    /// What to write if there is no such document: for `merge`, without the members that are null.
    ///
    /// - Throws: `JSONEditError`.
    package var newDocument: JSONText {
        get throws(JSONEditError) {
            guard ifExists == .merge else { return document }
            let empty: JSONText
            do throws(JSONError) { empty = try JSONText("{}") } catch { throw .invalidValue(error) }
            return try empty.merging(document.root)
        }
    }

    /// What to write over the existing document.
    ///
    /// - Parameter current: The existing document, with `_id` and `_rev`.
    /// - Returns: Nil if it needs no change.
    /// - Throws: `JSONEditError` if an edit is ambiguous, as with duplicate members.
    package func write(over current: JSONText) throws(JSONEditError) -> JSONText? {
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
