internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Brings the bytes of attachments to where an export keeps them, several at once.
struct AttachmentExport: Sendable {
    /// How often a document is read again whose attachments change all the time.
    private static let tries = 5
    /// Attachments on their way at the same time.
    private static let parallelFetches = 4

    let fetcher: AttachmentFetcher
    /// Nil: the bytes go into the documents.
    let store: AttachmentStore?
    let output: String
    let temporaryDirectory: String
    /// Whether a document that has changed meanwhile is taken as it is now: not if this revision is wanted and no other.
    let takesCurrent: Bool
    private let known = KnownBodies()
    let unsynced = UnsyncedFolders()

    /// What has become of an attachment.
    enum Fetched: Sendable {
        case stored(AttachmentBody)
        case spooled(AttachmentSpool, AttachmentBody)
        /// Its document keeps the stub.
        case missing(reason: String)

        var isMissing: Bool { if case .missing = self { true } else { false } }
    }

    // MARK: - Bytes

    /// For each document one for each of its stubs.
    ///
    /// - Throws: `RunFailure`, ``TransferError``, `CancellationError`.
    func fetch(_ documents: [UnfetchedAttachments]) async throws -> [[Fetched]] {
        var all = documents.map { [Fetched](repeating: .missing(reason: ""), count: $0.stubs.count) }
        var places = documents.indices.flatMap { document in
            documents[document].stubs.indices.map { (document: document, stub: $0) }
        }[...]
        try await withThrowingTaskGroup(of: (slot: Int, document: Int, stub: Int, fetched: Fetched).self) { group in
            func begin(_ slot: Int) {
                guard let (document, stub) = places.popFirst() else { return }
                let unfetched = documents[document]
                group.addTask {
                    (slot, document, stub, try await fetch(unfetched.stubs[stub], of: unfetched, slot: slot))
                }
            }
            for slot in 0..<Self.parallelFetches { begin(slot) }
            while let done = try await group.next() {
                all[done.document][done.stub] = done.fetched
                begin(done.slot)
            }
        }
        return all
    }

    /// - Parameter slot: Which of those that are under way at once: each has a file of its own to come into.
    private func fetch(
        _ stub: AttachmentStub, of document: UnfetchedAttachments, slot: Int
    ) async throws -> Fetched {
        if let store, let body = await known.body(of: stub), store.holds(body) { return .stored(body) }
        let spool =
            try store?.spool(for: output, slot: slot) ?? AttachmentSpool(directory: temporaryDirectory)
        let body: AttachmentBody
        switch try await fetcher.fetch(stub, of: document.id, revision: document.revision, into: spool) {
        case .missing(let reason): return .missing(reason: reason)
        case .fetched(let fetched): body = fetched
        }
        guard let store else { return .spooled(spool, body) }
        _ = try await store.take(spool, body, noting: unsynced)
        await known.note(stub, body)
        return .stored(body)
    }

    /// Takes away what is left when nothing is under way any more.
    func removeSpools() {
        for slot in 0..<Self.parallelFetches { store?.removeSpool(for: output, slot: slot) }
    }

    // MARK: - Documents that change meanwhile

    /// What has become of a document that lacks bytes; nil if it is to be written with what there is of it, also where
    /// the gateway does not tell.
    func newer(than document: UnfetchedAttachments, _ fetched: [Fetched]) async throws -> DocumentLookup? {
        guard fetched.contains(where: \.isMissing), takesCurrent, document.attempt < Self.tries else { return nil }
        let now = try await fetcher.contact.single(
            fetcher.gateway, arrivals: fetcher.arrivals, "reading a document again failed; retrying",
            ["id": "\(document.id)"]
        ) { () async throws(GatewayError) in try await fetcher.gateway.currentDocument(document.id) }
        switch now {
        case .failure, .success(.refused), .success(.found(document.revision, _)): return nil
        case .success(let lookup): return lookup
        }
    }
}

/// Bodies that are in the folder already, by what a gateway says of them.
///
/// Only of Sync Gateway, which stores attachments under these digests itself. CouchDB's MD5 names no content for sure.
private actor KnownBodies {
    private static let limit = 20_000
    private var bodies: [AttachmentDigest: AttachmentBody] = [:]

    func body(of stub: AttachmentStub) -> AttachmentBody? {
        stub.digest.flatMap { bodies[$0] }.flatMap { $0.byteCount == stub.byteCount ? $0 : nil }
    }

    func note(_ stub: AttachmentStub, _ body: AttachmentBody) {
        guard let digest = stub.digest, digest.namesContent else { return }
        if bodies.count >= Self.limit { bodies = [:] }
        bodies[digest] = body
    }
}
