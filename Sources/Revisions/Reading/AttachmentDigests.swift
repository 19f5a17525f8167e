package import DocumentFlow
internal import Encodings
package import GatewayClient
package import Logging

/// Reads attachments of a gateway to compare their bytes. CouchDB's digests can't tell: they are of bytes that it
/// compressed, in a way that depends on the settings of the server where they were uploaded.
///
/// Gives up on an attachment that keeps failing while the gateway answers other requests. Waits for the end of an outage.
package struct AttachmentDigests: Sendable {
    private let gateway: Gateway
    private let contact: GatewayContact
    private let logger: Logger
    private let unreadable: Logger.Message
    private let history = SharedHistory()

    /// - Parameter unreadable: Logged for an attachment that can't be read, with the reason.
    package init(_ gateway: Gateway, _ contact: GatewayContact, _ logger: Logger, unreadable: Logger.Message) {
        (self.gateway, self.contact, self.logger, self.unreadable) = (gateway, contact, logger, unreadable)
    }

    /// The SHA-256 in lowercase hexadecimal; nil if the attachment is gone, or can't be read.
    ///
    /// - Parameters:
    ///   - revision: Nil: the winning one.
    ///   - length: A longer attachment is not read to its end: its digest is another one anyway.
    /// - Throws: `RunError`, `CancellationError`.
    package func sha256(
        of name: String, _ id: DocumentID, _ revision: RevisionID?, length: Int = .max
    ) async throws -> String? {
        try await answer(name, id, revision) { answer in
            var digest = RunningDigest(.sha256)
            while digest.byteCount <= length, let bytes = try await answer.next() { digest.update(bytes) }
            return digest.hex
        }
    }

    /// The digest of another one's kind; nil if the attachment is gone, or can't be read.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    package func digest(
        of name: String, _ id: DocumentID, _ revision: RevisionID, like other: AttachmentDigest
    ) async throws -> AttachmentDigest? {
        try await answer(name, id, revision) { answer in
            var digest = AttachmentDigest.Calculation(like: other)
            while let bytes = try await answer.next() { digest.update(bytes) }
            return digest.digest()
        }
    }

    private func answer<Found: Sendable>(
        _ name: String, _ id: DocumentID, _ revision: RevisionID?,
        _ read: (inout AttachmentAnswer) async throws -> Found
    ) async throws -> Found? {
        let metadata: Logger.Metadata = [LogKey.id: "\(id)", LogKey.attachment: "\(name)"]
        let found = try await contact.askWithLimit(
            gateway, history: history, "reading an attachment failed; retrying", metadata,
            unless: { [.digestMismatch, .forbidden, .notFound, .invalidRequest].contains($0.code) },
            isSuccess: { $0 != nil },
            {
                guard var answer = try await gateway.openAttachment(name, of: id, revision: revision) else {
                    return Found?.none
                }
                return try await read(&answer)
            })
        switch found {
        case .success(let found): return found
        case .failure(let error):
            logger.notice(unreadable, metadata: metadata.merging([LogKey.reason: "\(error)"]) { $1 })
            return nil
        }
    }
}
