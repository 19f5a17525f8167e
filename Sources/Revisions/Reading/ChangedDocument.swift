package import GatewayClient
package import LosslessJSON

/// A changed document of the source with its leaf revisions, the winner first.
package struct ChangedDocument: Sendable {
    package let id: DocumentID
    package var revisions: [RevisionID]

    package init(id: DocumentID, revisions: [RevisionID]) {
        self.id = id
        self.revisions = revisions
    }
}

/// A revision as sent by the source.
package struct ReplicatedRevision: Sendable {
    package let text: JSONText
    package let key: BulkGetKey
    /// Revisions of the document that the target has.
    package let knownAncestors: [RevisionID]
    /// Whether another leaf of the document wins over this one.
    package let isLosing: Bool

    package init(text: JSONText, key: BulkGetKey, knownAncestors: [RevisionID], isLosing: Bool = false) {
        self.text = text
        self.key = key
        self.knownAncestors = knownAncestors
        self.isLosing = isLosing
    }

    /// Whether it only ends a losing branch.
    package var isLosingDeletion: Bool { isDeleted && isLosing }

    package var isDeleted: Bool { text.root["_deleted"]?.bool == true }

    /// Sync Gateway sends this in place of a revision that the user may not see.
    package var isRemoved: Bool { text.root["_removed"]?.bool == true }

    /// The generation of the newest ancestor that the target has; 0 if it has none.
    var knownGeneration: Int {
        guard let history = text.root["_revisions"], let start = history["start"]?.integer,
            let digests = history["ids"]?.elements.map(\.string)
        else { return 0 }
        let known = Set(knownAncestors.map(\.text))
        for (age, digest) in digests.enumerated() where known.contains("\(start - age)-\(digest ?? "")") {
            return start - age
        }
        return 0
    }

    /// Attachments whose bytes the target needs, and those that it has from an ancestor. An attachment older than the
    /// ancestor was stored with it.
    package var attachments: (needed: [AttachmentStub], known: [AttachmentStub]) {
        let stubs = AttachmentStub.all(of: text.root)
        guard !stubs.isEmpty else { return ([], []) }
        let generation = knownGeneration
        let entries = text.root["_attachments"]
        var needed: [AttachmentStub] = []
        var known: [AttachmentStub] = []
        for stub in stubs {
            let position = entries?[stub.name]?["revpos"]?.integer ?? .max
            // CouchDB writes 0 if a replicated revision did not specify it.
            if position > 0, position <= generation { known.append(stub) } else { needed.append(stub) }
        }
        return (needed, known)
    }
}
