package import LosslessJSON

/// How a conflict is resolved.
package enum ConflictResolution: Sendable {
    /// Keeps this leaf, an index in ``Conflict/leaves``, and deletes the others.
    case keep(Int)
    /// Writes a new revision after the winner, and deletes the other leaves.
    case write(ResolvedDocument)
    /// Deletes all leaves.
    case delete
    /// Writes nothing and leaves the document in conflict.
    case leave(reason: String)
}

/// A document merged from several leaves.
package struct ResolvedDocument: Sendable {
    /// An object without members whose names begin with `_`.
    package let members: JSONText
    /// Its attachments, each with the index in ``Conflict/leaves`` of the leaf that has it.
    package let attachments: [(name: String, leaf: Int)]

    package init(members: JSONText, attachments: [(name: String, leaf: Int)]) {
        self.members = members
        self.attachments = attachments
    }

    /// The members of a document whose names do not begin with `_`. Nil if it is not valid JSON.
    package static func members(of document: JSONValue) -> JSONText? {
        var members = JSONWriter()
        members.object { members in
            for member in document.members where member.name.characters.first != UInt8(ascii: "_") {
                members.raw(document.text.bytes[member.range])
            }
        }
        return try? JSONText(members.bytes)
    }

    /// One leaf unchanged, an index in ``Conflict/leaves``. Nil if the leaf is not valid JSON.
    package init?(leaf: Int, of conflict: Conflict) {
        let document = conflict.leaves[leaf].document
        guard let members = Self.members(of: document.root) else { return nil }
        self.members = members
        let others = conflict.leaves.enumerated().map { LeafAttachment.all(of: $1.document.root, leaf: $0) }
        attachments = LeafAttachment.all(of: document.root, leaf: leaf).map { own in
            // If they are equal, takes the winner's: its bytes need not be sent again.
            let first = others.joined().first { $0.name.isSame(as: own.name) && $0.content == own.content }
            return (own.name, first?.leaf ?? leaf)
        }
    }
}
