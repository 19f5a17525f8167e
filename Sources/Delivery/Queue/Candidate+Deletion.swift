internal import DocumentFlow
package import GatewayClient
internal import LosslessJSON

// A tombstone has members if the deletion wrote some. Lists and the log of a fleet have only its id and revision: such
// a candidate is unread, and the writer that takes it reads the revision.

extension Candidate {
    /// - Parameter readsMembers: Whether any rule decides deletions. If not, nothing is read.
    package init(ofDeletion id: DocumentID, _ revision: RevisionID, sequence: SequenceID?, readsMembers: Bool) {
        let content = Content(
            revision, readsMembers ? [] : Self.tombstone(id, revision), isDeleted: true,
            expectedBytes: readsMembers ? Content.usualBytes : 0)
        self.init(id, content, reason: Reason(sequence: sequence))
    }

    /// A document that this client can't see any longer. Nothing is read, and only rules with `leave` apply.
    package init(ofLost id: DocumentID, _ revision: RevisionID, sequence: SequenceID?) {
        let content = Content(revision, Self.lostDocument(id, revision), isDeleted: true, isLost: true)
        self.init(id, content, reason: Reason(sequence: sequence))
    }

    /// A tombstone without members other than its id and revision.
    static func tombstone(_ id: DocumentID, _ revision: RevisionID?) -> [UInt8] {
        document(id, revision, member: "_deleted")
    }

    /// A document that this client can't see any longer, as Sync Gateway reports it.
    static func lostDocument(_ id: DocumentID, _ revision: RevisionID?) -> [UInt8] {
        document(id, revision, member: "_removed")
    }

    private static func document(_ id: DocumentID, _ revision: RevisionID?, member: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            if let revision { writer.member("_rev", string: revision.text) }
            writer.member(member, bool: true)
        }
        return writer.bytes
    }

    /// Whether its tombstone is the document's current revision, according to `lookup`.
    ///
    /// A gateway may answer for a deleted document as for one that never existed. This counts as confirmed.
    func isConfirmed(by lookup: DocumentLookup) -> Bool {
        guard content.isDeleted else { return false }
        switch lookup {
        case .deleted(let found): return found == content.revision
        case .missing: return content.revision != nil
        case .found, .refused: return false
        }
    }

    /// Sets the tombstone that was read. A document that is no longer visible to this client stays that.
    ///
    /// - Parameter tombstone: Nil: keeps the one that it has, or else uses one without members.
    mutating func setTombstone(_ tombstone: [UInt8]?) {
        guard !content.isLost, let revision = content.revision else { return }
        let kept = content.document.isEmpty ? Self.tombstone(id, revision) : content.document
        content.set(revision, tombstone ?? kept, isDeleted: true)
    }
}
