package import GatewayClient
package import LosslessJSON
internal import Rules

/// A document that was dead-lettered, as it is now.
package struct RetriedDocument: Sendable {
    package enum Content: Sendable {
        case document(RevisionID, JSONText)
        case tombstone(RevisionID)
        /// There is no such document, nor anything left of it.
        case gone
        case unreadable(reason: String)
        /// Its letters don't say which document it is. Nothing can be done: they stay as they are.
        case unknown
    }

    package let document: DeadLetteredDocument
    package let content: Content

    package init(_ document: DeadLetteredDocument, _ content: Content) {
        self.document = document
        self.content = content
    }

    var byteCount: Int {
        if case .document(_, let text) = content { text.bytes.count } else { 0 }
    }

    /// What a feed shows of a deleted document.
    package static func tombstone(_ id: DocumentID, _ revision: RevisionID?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            if let revision { writer.member("_rev", string: revision.text) }
            writer.member("_deleted", bool: true)
        }
        return writer.bytes
    }
}

extension ChangeFilter {
    struct RetryResult {
        var candidates: [Candidate] = []
        /// Of documents that can't be read.
        var deadLetters: [DeadLetter] = []
        /// Letters that are done with: their documents are gone, or no rule cares for them as they are now.
        var settled: [Int] = []
        /// How many documents' letters stay as they are.
        var untouched = 0
    }

    func filter(_ documents: [RetriedDocument]) -> RetryResult {
        var result = RetryResult()
        for retried in documents {
            let document = retried.document
            switch retried.content {
            case .document(let revision, let text):
                filter(document, revision, text.bytes, of: text.root, isDeleted: false, into: &result)
            case .tombstone(let revision):
                let bytes = RetriedDocument.tombstone(document.id, revision)
                guard let text = try? JSONText(bytes) else { continue }
                filter(document, revision, bytes, of: text.root, isDeleted: true, into: &result)
            case .gone: result.settled += document.letters
            case .unreadable(let reason):
                var letter = DeadLetter(
                    sequence: document.sequence, id: document.id, revision: nil, reason: "can't be read: \(reason)")
                letter.replaced = document.letters
                result.deadLetters.append(letter)
            case .unknown: result.untouched += 1
            }
        }
        return result
    }

    private func filter(
        _ document: DeadLetteredDocument, _ revision: RevisionID, _ bytes: [UInt8], of root: JSONValue, isDeleted: Bool,
        into result: inout RetryResult
    ) {
        guard decider.mayFire(on: root, isDeleted: isDeleted) else {
            result.settled += document.letters
            return
        }
        var candidate = Candidate(
            sequence: document.sequence, id: document.id, revision: revision, isDeleted: isDeleted, document: bytes)
        candidate.letters = document.letters
        result.candidates.append(candidate)
    }
}
