internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules

/// Reads attachments of a gateway to compare them with what rules attach. CouchDB's digests can't tell: they are of bytes
/// that it compressed, in a way that depends on its settings.
///
/// Gives up on an attachment that keeps failing while the gateway answers other requests: it is written again. Waits
/// for the end of an outage.
final class AttachmentComparison: Sendable {
    private let gateway: Gateway
    private let contact: GatewayContact
    private let history = SharedHistory()
    private let logger: Logger
    /// Why the run ends; nil if it does not.
    private let end = Locked<(any Error)?>(nil)

    init(_ gateway: Gateway, _ contact: GatewayContact, _ logger: Logger) {
        self.gateway = gateway
        self.contact = contact
        self.logger = logger
    }

    /// - Throws: What ended the wait for an answer: `RunError` if the gateway was down for longer than a one-shot job
    ///   retries, or that the run is to stop.
    func check() throws {
        if let end = end.withLock({ $0 }) { throw end }
    }

    /// Asks this object. What is asked once the run ends stays unknown.
    var reader: StoredAttachmentReader { StoredAttachmentReader { await self.content(of: $0) } }

    private func content(of attachment: StoredAttachment) async -> StoredAttachmentReader.Content {
        do {
            let answer = try await contact.askOrGiveUp(
                gateway, history: history, "reading an attachment failed; retrying",
                [LogKey.id: "\(attachment.id)", LogKey.attachment: "\(attachment.name)"],
                unless: { [.digestMismatch, .forbidden, .notFound, .invalidRequest].contains($0.code) },
                isSuccess: { $0 != nil },
                { try await read(attachment) })
            switch answer {
            case .success(let sha256): return sha256.map { .sha256($0) } ?? .unreadable
            case .failure(let error):
                logger.notice(
                    "an attachment can't be compared, and is written again",
                    metadata: [
                        LogKey.id: "\(attachment.id)", LogKey.attachment: "\(attachment.name)",
                        LogKey.reason: "\(error)",
                    ])
                return .unreadable
            }
        } catch {
            end.withLock { $0 = $0 ?? error }
            return .unknown
        }
    }

    /// Nil if the document has changed, and no longer has the attachment.
    private func read(_ attachment: StoredAttachment) async throws -> String? {
        let opened = try await gateway.openAttachment(
            attachment.name, of: DocumentID(attachment.id), revision: attachment.revision.map { RevisionID($0) })
        guard var answer = opened else { return nil }
        var digest = RunningDigest(.sha256)
        while digest.byteCount <= attachment.length, let bytes = try await answer.next() { digest.update(bytes) }
        return digest.hex
    }
}
