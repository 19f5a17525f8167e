internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Picks out of a stretch of the feed the changes that some rule may fire on. All others cost a look and no more.
struct ChangeSieve {
    /// A change that needs work, with the sequence of the row before it if that one needs none.
    struct Pick {
        let preceding: SequenceID?
        let sequence: SequenceID
        let id: DocumentID
        let revision: RevisionID?
        let isDeleted: Bool
        let document: [UInt8]
    }

    struct Result {
        var picks: [Pick] = []
        /// Documents that are not JSON: nothing can be decided about them.
        var deadLetters: [DeadLetter] = []
    }

    let decider: Decider

    func sift(_ rows: ChangesBatch.SubSequence) -> Result {
        var result = Result()
        var preceding: Change?
        for change in rows {
            if let document = document(toDecide: change), let sequence = change.sequence {
                result.picks.append(
                    Pick(
                        preceding: preceding?.sequence, sequence: sequence, id: change.id,
                        revision: change.revision, isDeleted: change.kind == .tombstone,
                        document: Array(document.bytes)))
                preceding = nil
                continue
            }
            if case .malformed(let fault) = change.kind {
                result.deadLetters.append(
                    DeadLetter(
                        sequence: change.sequence, id: change.id, revision: change.revision,
                        reason: "the document is not JSON: \(fault), at byte \(fault.offset) of its row"))
            }
            preceding = change
        }
        return result
    }

    private func document(toDecide change: Change) -> JSONValue? {
        let kind = change.kind
        guard kind == .document || kind == .tombstone, let document = change.document,
            decider.mayFire(on: document, isDeleted: kind == .tombstone)
        else { return nil }
        return document
    }
}
