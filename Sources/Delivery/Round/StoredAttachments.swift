internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Revisions
internal import Rules

/// Reads attachments of a gateway, so that decisions can compare them with the attachments of rules.
final class StoredAttachments: Sendable {
    private let digests: AttachmentDigests
    /// Why the run ends; nil if it does not.
    private let end = Locked<(any Error)?>(nil)

    init(_ digests: AttachmentDigests) { self.digests = digests }

    /// - Throws: The error that ended the wait for an answer: `RunError` if the gateway was down for longer than a
    ///   one-shot job retries, or the error that stops the run.
    func check() throws {
        if let end = end.withLock({ $0 }) { throw end }
    }

    /// Reads with this object. Once the run ends, every content is unknown.
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
