internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Revisions

/// The attachments of one document that have not been fetched yet.
struct UnfetchedAttachments: Sendable {
    let stubs: [AttachmentStub]
    let id: DocumentID
    let revision: RevisionID?
    let isTombstone: Bool
    /// How often the document was read. If it keeps changing, it is finally written with the attachments it has.
    let attempt: Int
}

/// Documents that can't be written yet, because their attachments, or those of an earlier document, are missing.
struct WaitingDocuments: Sendable {
    enum Document: Sendable {
        case whole(ArraySlice<UInt8>, isTombstone: Bool)
        case withAttachments(JSONValue, UnfetchedAttachments)
    }

    /// Attachments per batch of fetches, so that some arrive while others are checked and synced.
    private static let attachmentsPerBatch = 16
    /// The maximum number of document bytes to hold back.
    private static let byteLimit = 1 << 20

    private(set) var documents: [Document] = []
    private var stubCount = 0
    private var byteCount = 0

    var isEmpty: Bool { documents.isEmpty }

    /// Whether to fetch and write now.
    var isFull: Bool { stubCount >= Self.attachmentsPerBatch || byteCount >= Self.byteLimit }

    mutating func append(_ document: JSONValue, _ attachments: UnfetchedAttachments) {
        documents.append(.withAttachments(document, attachments))
        stubCount += attachments.stubs.count
        byteCount += document.range.count
    }

    mutating func append(whole document: ArraySlice<UInt8>, isTombstone: Bool) {
        documents.append(.whole(document, isTombstone: isTombstone))
        byteCount += document.count
    }

    /// The unfetched attachments of all documents, in order.
    var unfetched: [UnfetchedAttachments] {
        documents.compactMap { document in
            if case .withAttachments(_, let attachments) = document { attachments } else { nil }
        }
    }
}

/// Fetches the bytes of attachments for an export, several at once.
struct AttachmentExport: Sendable {
    /// Attachments fetched at the same time.
    private static let parallelFetches = 4

    let fetcher: AttachmentFetcher
    /// Nil if the bytes are written into the documents.
    let store: AttachmentStore?
    let output: String
    let temporaryDirectory: String
    private let known = KnownBodies()
    let unsynced = UnsyncedFolders()

    /// The result for one attachment.
    enum FetchResult: Sendable {
        case stored(AttachmentBody)
        case spooled(AttachmentSpool, AttachmentBody)
        /// Its document keeps the stub.
        case missing(reason: String)

        var isMissing: Bool { if case .missing = self { true } else { false } }
    }

    /// The results for the stubs of each document, in order.
    ///
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    func fetch(_ documents: [UnfetchedAttachments]) async throws -> [[FetchResult]] {
        var all = documents.map { [FetchResult](repeating: .missing(reason: ""), count: $0.stubs.count) }
        var places = documents.indices.flatMap { document in
            documents[document].stubs.indices.map { (document: document, stub: $0) }
        }[...]
        try await withThrowingTaskGroup(of: (slot: Int, document: Int, stub: Int, fetched: FetchResult).self) { group in
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

    /// - Parameter slot: A number for each concurrent fetch, because each writes to its own file.
    private func fetch(
        _ stub: AttachmentStub, of document: UnfetchedAttachments, slot: Int
    ) async throws -> FetchResult {
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
}

/// Bodies that are in the folder already, keyed by the digest that the gateway gives.
///
/// Used only with Sync Gateway, which stores attachments under these digests itself. CouchDB's MD5 does not identify
/// content safely.
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
