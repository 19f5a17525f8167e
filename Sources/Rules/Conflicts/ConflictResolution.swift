package import LosslessJSON

/// What becomes of a document in conflict.
package enum ConflictResolution: Sendable {
    /// This leaf is the result: an index in ``Conflict/leaves``. The others are deleted.
    case keep(Int)
    /// A new revision after the winner. Then the leaves are deleted, but for the winner.
    case write(ResolvedDocument)
    /// All leaves are deleted.
    case delete
    /// Nothing is written: the document is left in conflict.
    case leave(reason: String)
}

/// A document that was made of several leaves.
package struct ResolvedDocument: Sendable {
    /// An object without members whose names begin with `_`.
    package let members: JSONText
    /// Its attachments, and from which of ``Conflict/leaves`` they come.
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

    /// A leaf as it is: an index in ``Conflict/leaves``. Nil if it is not valid JSON.
    package init?(leaf: Int, of conflict: Conflict) {
        let document = conflict.leaves[leaf].document
        guard let members = Self.members(of: document.root) else { return nil }
        self.members = members
        let others = conflict.leaves.enumerated().map { LeafAttachment.all(of: $1.document.root, leaf: $0) }
        attachments = LeafAttachment.all(of: document.root, leaf: leaf).map { own in
            // Of equal ones the winner's: its bytes need not be sent.
            let first = others.joined().first { $0.name.isSame(as: own.name) && $0.content == own.content }
            return (own.name, first?.leaf ?? leaf)
        }
    }
}
