internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Fetches the bytes of attachments for an export, several at once.
struct AttachmentExport: Sendable {
    /// How many times a document is read if its attachments keep changing.
    private static let tries = 5
    /// Attachments fetched at the same time.
    private static let parallelFetches = 4

    let fetcher: AttachmentFetcher
    /// Nil if the bytes go into the documents.
    let store: AttachmentStore?
    let output: String
    let temporaryDirectory: String
    /// Whether a document that has changed since is exported as it is now; false if only this revision is wanted.
    let takesCurrent: Bool
    private let known = KnownBodies()
    let unsynced = UnsyncedFolders()

    /// The result for one attachment.
    enum Fetched: Sendable {
        case stored(AttachmentBody)
        case spooled(AttachmentSpool, AttachmentBody)
        /// Its document keeps the stub.
        case missing(reason: String)

        var isMissing: Bool { if case .missing = self { true } else { false } }
    }

    // MARK: - Bytes

    /// The results for the stubs of each document, in order.
    ///
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
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

    /// - Parameter slot: Tells apart the fetches under way, because each writes to its own file.
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
        try await store.take(spool, body, noting: unsynced)
        await known.note(stub, body)
        return .stored(body)
    }

    /// Removes the spool files once nothing is being fetched.
    func removeSpools() {
        for slot in 0..<Self.parallelFetches { store?.removeSpool(for: output, slot: slot) }
    }

    // MARK: - Documents that change during the export

    /// Reads a document again if an attachment is missing. Nil: write it as it is, because it is complete, unchanged or
    /// refused, was read too often or can't be read, or because only this revision is wanted.
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

/// Bodies that are in the folder already, by the digest that the gateway gives.
///
/// Only Sync Gateway's: it stores attachments under these digests itself. CouchDB's MD5 does not identify content
/// safely.
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
