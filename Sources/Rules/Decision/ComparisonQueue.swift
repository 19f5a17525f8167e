/// An attachment of a gateway that may have the content that a rule attaches. Type and length agree, and the digest can't
/// tell: CouchDB compresses attachments, and its digest is that of the compressed bytes.
package struct StoredAttachment: Sendable {
    /// The document's.
    package let id: String
    /// Nil: the winning one.
    package let revision: String?
    package let name: String
    /// As in the document's stub.
    let digest: String
    /// What the rule attaches.
    let content: AttachmentContent

    /// Bytes that the gateway says it has.
    package var length: Int { content.length }

    fileprivate var question: ComparisonQueue.Question {
        ComparisonQueue.Question(content: ObjectIdentifier(content), digest: digest)
    }
}

/// Reads attachments of a gateway for decisions. Does not throw.
package struct StoredAttachmentReader: Sendable {
    /// What is known of the bytes.
    package enum Content: Sendable {
        /// Their SHA-256, in lowercase hexadecimal.
        case sha256(String)
        /// They can't be read: they are written again.
        case unreadable
        /// They were not read because the run ends: nothing is decided.
        case unknown
    }

    let read: @Sendable (StoredAttachment) async -> Content

    package init(read: @escaping @Sendable (StoredAttachment) async -> Content) { self.read = read }
}

/// The attachments of the gateway that the decisions of a batch depend on.
///
/// The result is kept with the content: documents that have the same attachment need no further request.
struct ComparisonQueue {
    /// How many attachments are read at a time.
    private static let width = 4

    fileprivate struct Question: Hashable {
        let content: ObjectIdentifier
        let digest: String
    }

    /// What a run wants to know, in order.
    private var waiting: [(run: Int, attachments: [StoredAttachment])] = []
    /// What was asked already, by run. It is not asked again if it could not be read.
    private var asked: [Int: Set<Question>] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: Whether there is anything to compare: then the run must be started over afterwards.
    mutating func add(_ decision: Decision, of run: Int) -> Bool {
        guard decision.error == nil else { return false }
        let new = decision.unknown.filter { asked[run]?.contains($0.question) != true }
        guard !new.isEmpty else { return false }
        asked[run, default: []].formUnion(new.map(\.question))
        waiting.append((run, new))
        return true
    }

    /// Reads what is waited for, the same attachment once, and notes the results with the contents.
    ///
    /// - Returns: The runs, each with whether it can be decided now.
    mutating func compare(_ reader: StoredAttachmentReader) async -> [(run: Int, isDecidable: Bool)] {
        defer { waiting = [] }
        var unknown: Set<Question> = []
        var questions: Set<Question> = []
        var rest = waiting.flatMap(\.attachments).filter { questions.insert($0.question).inserted }[...]
        await withTaskGroup(of: (StoredAttachment, StoredAttachmentReader.Content).self) { group in
            func begin() {
                guard let attachment = rest.popFirst() else { return }
                group.addTask { (attachment, await reader.read(attachment)) }
            }
            for _ in 0..<Self.width { begin() }
            for await (attachment, content) in group {
                switch content {
                case .sha256(let sha256):
                    attachment.content.note(attachment.digest, isSame: sha256 == attachment.content.sha256)
                case .unreadable: break
                case .unknown: unknown.insert(attachment.question)
                }
                begin()
            }
        }
        return waiting.map { run, attachments in (run, attachments.allSatisfy { !unknown.contains($0.question) }) }
    }
}
