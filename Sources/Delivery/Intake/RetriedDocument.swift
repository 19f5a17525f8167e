package import BotState
package import GatewayClient
package import LosslessJSON
internal import Rules

/// The current content of a dead-lettered document.
package struct RetriedDocument: Sendable {
    /// What the gateway has of it.
    package enum Content: Sendable {
        case document(RevisionID, JSONText)
        /// With the members that the deletion wrote.
        case tombstone(RevisionID, JSONText)
        /// There is neither such a document nor its tombstone.
        case gone
        case unreadable(reason: String)
        /// Its dead letters don't name a document (the id is empty): they are left unchanged.
        case unknown
    }

    /// The document's id and its dead letters.
    let document: DeadLetteredDocument
    /// What was read.
    let content: Content

    /// Without I/O: the caller has read the document.
    package init(_ document: DeadLetteredDocument, _ content: Content) {
        self.document = document
        self.content = content
    }

    package var byteCount: Int {
        switch content {
        case .document(_, let text), .tombstone(_, let text): text.bytes.count
        case .gone, .unreadable, .unknown: 0
        }
    }
}

extension ChangeFilter {
    struct RetryResult {
        var candidates: [Candidate] = []
        /// New dead letters of documents that can't be read.
        var deadLetters: [DeadLetter] = []
        /// Dead letters to drop: the document is gone, or no rule fires on its current content.
        var settled: [Int] = []
        /// Documents whose dead letters are left unchanged.
        var untouched = 0
    }

    func filter(_ documents: [RetriedDocument]) -> RetryResult {
        var result = RetryResult()
        for retried in documents {
            let document = retried.document
            switch retried.content {
            case .document(let revision, let text):
                filter(document, revision, text.bytes, of: text.root, isDeleted: false, into: &result)
            case .tombstone(let revision, let text):
                filter(document, revision, text.bytes, of: text.root, isDeleted: true, into: &result)
            case .gone: result.settled += document.deadLetters
            case .unreadable(let reason):
                var deadLetter = DeadLetter(
                    sequence: document.sequence, id: document.id, revision: nil, reason: "can't be read: \(reason)")
                deadLetter.replaced = document.deadLetters
                result.deadLetters.append(deadLetter)
            case .unknown: result.untouched += 1
            }
        }
        return result
    }

    private func filter(
        _ document: DeadLetteredDocument, _ revision: RevisionID, _ bytes: [UInt8], of root: JSONValue, isDeleted: Bool,
        into result: inout RetryResult
    ) {
        guard decider.mayFire(on: root, isDeleted: isDeleted, mayBeInConflict: namesLeaves) else {
            result.settled += document.deadLetters
            return
        }
        let candidate = Candidate(
            document.id, Content(revision, bytes, isDeleted: isDeleted),
            reason: Reason(sequence: document.sequence, deadLetters: document.deadLetters))
        result.candidates.append(candidate)
    }
}
