/// An attachment on the gateway that may have the content that a rule attaches. Type and length agree, but the digest
/// is inconclusive: CouchDB's digest is of the compressed bytes.
package struct StoredAttachment: Sendable {
    /// The id of the document.
    package let id: String
    /// Nil for the winning revision.
    package let revision: String?
    package let name: String
    /// The digest in the document's stub.
    let digest: String
    /// The content that the rule attaches.
    let content: AttachmentContent

    /// The length in bytes, according to the gateway.
    package var length: Int { content.length }

    fileprivate var comparison: ComparisonQueue.Comparison {
        ComparisonQueue.Comparison(content: ObjectIdentifier(content), digest: digest)
    }
}

/// Reads attachments from the gateway for decisions. Does not throw.
package struct StoredAttachmentReader: Sendable {
    /// The result of a read.
    package enum Content: Sendable {
        /// SHA-256 of the bytes, in lowercase hexadecimal.
        case sha256(String)
        /// The bytes can't be read, so the attachment is written again.
        case unreadable
        /// Not read because the run is ending. The document is not decided.
        case unknown
    }

    let read: @Sendable (StoredAttachment) async -> Content

    package init(read: @escaping @Sendable (StoredAttachment) async -> Content) { self.read = read }
}

/// Gateway attachments that the decisions of a batch depend on.
///
/// The result is stored with the content, so other documents with the same attachment need no further request.
struct ComparisonQueue {
    /// The maximum number of concurrent reads.
    private static let width = 4

    fileprivate struct Comparison: Hashable {
        let content: ObjectIdentifier
        let digest: String
    }

    /// The attachments that each run needs, in order.
    private var waiting: [(run: Int, attachments: [StoredAttachment])] = []
    /// The attachments already requested, by run. An unreadable one is not requested again.
    private var requested: [Int: Set<Comparison>] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    /// - Returns: Whether there is anything to compare. If so, the run must start over afterwards.
    mutating func add(_ attachments: [StoredAttachment], of run: Int) -> Bool {
        let new = attachments.filter { requested[run]?.contains($0.comparison) != true }
        guard !new.isEmpty else { return false }
        requested[run, default: []].formUnion(new.map(\.comparison))
        waiting.append((run, new))
        return true
    }

    /// Reads the requested attachments, each once, and stores the results with the contents.
    ///
    /// - Returns: The runs, each with whether it can be decided now.
    mutating func compare(_ reader: StoredAttachmentReader) async -> [(run: Int, isDecidable: Bool)] {
        defer { waiting = [] }
        var unknown: Set<Comparison> = []
        var comparisons: Set<Comparison> = []
        var rest = waiting.flatMap(\.attachments).filter { comparisons.insert($0.comparison).inserted }[...]
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
                case .unknown: unknown.insert(attachment.comparison)
                }
                begin()
            }
        }
        return waiting.map { run, attachments in (run, attachments.allSatisfy { !unknown.contains($0.comparison) }) }
    }
}
