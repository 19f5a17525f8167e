internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Pipeline

/// Writes documents together with the bytes of their attachments.
struct AttachmentExport: Sendable {
    /// How often a document is read again whose attachments change all the time.
    private static let tries = 5

    let fetcher: AttachmentFetcher
    /// Nil: the bytes go into the documents.
    let store: AttachmentStore?
    let output: String
    let temporaryDirectory: String
    /// Whether a document that has changed meanwhile is taken as it is now: not if this revision is wanted and no other.
    let takesCurrent: Bool
    let known = KnownBodies()

    /// A body on its way into a document.
    enum Fetched: Sendable {
        case stored(AttachmentBody)
        case spooled(AttachmentSpool, AttachmentBody)

        var body: AttachmentBody {
            switch self {
            case .stored(let body), .spooled(_, let body): body
            }
        }
    }

    /// Writes one document whose stubs have been found, unless it has changed meanwhile.
    ///
    /// - Parameter attempt: How often this document was read; one that changes all the time is written in the end with
    ///   what there is of it.
    /// - Returns: What has become of it, if it was not written.
    func write(
        _ document: JSONValue, _ stubs: [AttachmentStub], id: DocumentID, revision: RevisionID?, attempt: Int,
        to writer: ExportWriter
    ) async throws -> DocumentLookup? {
        let fetched = try await fetchAll(stubs, of: id, revision: revision)
        let isWhole = !fetched.contains { $0 == nil }
        if !isWhole, takesCurrent, attempt < Self.tries, let now = try await readAgain(id, unless: revision) {
            return now
        }
        try await writer.write(document, stubs, fetched, id: id, revision: revision)
        return nil
    }

    /// One for each stub; nil where there are no bytes.
    private func fetchAll(
        _ stubs: [AttachmentStub], of id: DocumentID, revision: RevisionID?
    ) async throws -> [Fetched?] {
        var all: [Fetched?] = []
        for stub in stubs { all.append(try await fetch(stub, of: id, revision: revision)) }
        return all
    }

    private func fetch(
        _ stub: AttachmentStub, of id: DocumentID, revision: RevisionID?
    ) async throws -> Fetched? {
        if let store, let body = await known.body(of: stub), store.holds(body) { return .stored(body) }
        let spool = try store?.spool(for: output) ?? AttachmentSpool(directory: temporaryDirectory)
        guard case .fetched(let body) = try await fetcher.fetch(stub, of: id, revision: revision, into: spool) else {
            return nil
        }
        guard let store else { return .spooled(spool, body) }
        _ = try await store.take(spool, body)
        await known.note(stub, body)
        return .stored(body)
    }

    /// The document as it is now; nil if it is still of this revision.
    private func readAgain(_ id: DocumentID, unless revision: RevisionID?) async throws -> DocumentLookup? {
        let now = try await fetcher.asking.again { try await fetcher.gateway.current(id) }
        if case .found(revision, _) = now { return nil }
        return now
    }
}
