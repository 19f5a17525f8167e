internal import Encodings
package import GatewayClient
internal import LosslessJSON

/// Fetches the attachments of a revision that will be stored elsewhere, or as another revision.
package struct RevisionPreparation: Sendable {
    /// An attachment could not be fetched.
    package struct Unreadable: Error {
        package let reason: String

        package static let notMergeable = Unreadable(reason: "its leaves can't be merged into one document")
    }

    let fetcher: AttachmentFetcher
    /// Attachments are sent inline up to this many bytes in total.
    let inlineByteCount: Int
    /// The dialect of the target.
    let dialect: GatewayDialect

    package init(fetcher: AttachmentFetcher, inlineByteCount: Int, dialect: GatewayDialect) {
        self.fetcher = fetcher
        self.inlineByteCount = inlineByteCount
        self.dialect = dialect
    }

    /// - Parameters:
    ///   - needed: Attachments whose bytes are sent, with the revisions that have them.
    ///   - known: Attachments that the target has from the revision's ancestors.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    package func prepare(
        _ revision: ReplicatedRevision, _ needed: [(stub: AttachmentStub, origin: RevisionID?)],
        _ known: [AttachmentStub]
    ) async throws -> Result<PreparedRevision, Unreadable> {
        let size = needed.reduce(0) { $0 + ($1.stub.byteCount ?? .max / 1024) }
        let isInline = size <= inlineByteCount
        var entries = known.map { (name: $0.name, json: ReplicatedBody.stub($0, of: revision.text)) }
        var uploads: [SpooledUpload] = []
        let shared = isInline && !needed.isEmpty ? try makeSpool() : nil
        for (stub, origin) in needed {
            let spool = try shared ?? makeSpool()
            switch try await fetcher.fetch(stub, of: revision.key.id, revision: origin, into: spool) {
            case .missing(let reason): return .failure(Unreadable(reason: "'\(stub.name)': \(reason)"))
            case .fetched(let body):
                if isInline {
                    try await spool.rewind()
                    let base64 = Base64.encode(try await spool.read(upTo: body.byteCount))
                    entries.append((stub.name, ReplicatedBody.inline(stub, of: revision.text, base64: base64)))
                } else {
                    uploads.append(
                        try await SpooledUpload(stub, of: revision.text, spool, byteCount: body.byteCount, for: dialect)
                    )
                }
            }
        }
        var prepared = PreparedRevision(revision, ReplicatedBody.bytes(of: revision.text, attachments: entries))
        prepared.uploads = uploads
        prepared.sentAttachments = needed.count
        prepared.keptAttachments = known.count
        return .success(prepared)
    }

    /// Prepares the revision that resolves a conflict.
    ///
    /// - Parameter owner: The server with the attachments, for the reason of a failure.
    /// - Throws: The same errors as the function above.
    package func prepare(
        _ new: NewRevision.RevisionWithAttachments, from owner: String
    ) async throws -> Result<PreparedRevision, Unreadable> {
        try await prepare(new.revision, new.needed, new.kept).mapError { error in
            Unreadable(reason: "the \(owner) could not send an attachment: \(error.reason)")
        }
    }

    private func makeSpool() throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(directory: FileOperations.temporaryDirectory)
    }
}
