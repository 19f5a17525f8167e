internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Revisions
internal import Rules

/// Reads attachments of a gateway for decisions, which compare them with what rules attach.
final class StoredAttachments: Sendable {
    private let digests: AttachmentDigests
    /// Why the run ends; nil if it does not.
    private let end = Locked<(any Error)?>(nil)

    init(_ digests: AttachmentDigests) { self.digests = digests }

    /// - Throws: What ended the wait for an answer: `RunError` if the gateway was down for longer than a one-shot job
    ///   retries, or that the run is to stop.
    func check() throws {
        if let end = end.withLock({ $0 }) { throw end }
    }

    /// Asks this object. What is asked once the run ends stays unknown.
    var reader: StoredAttachmentReader { StoredAttachmentReader { await self.content(of: $0) } }

    private func content(of attachment: StoredAttachment) async -> StoredAttachmentReader.Content {
        do {
            let sha256 = try await digests.sha256(
                of: attachment.name, DocumentID(attachment.id), attachment.revision.map { RevisionID($0) },
                length: attachment.length)
            return sha256.map { .sha256($0) } ?? .unreadable
        } catch {
            end.withLock { $0 = $0 ?? error }
            return .unknown
        }
    }
}
