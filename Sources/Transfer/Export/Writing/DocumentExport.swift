internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Carries out each document's step, in order of arrival.
///
/// Documents with attachments wait for the bytes, which are fetched for a few documents together. Later documents wait,
/// too.
final class DocumentExport {
    /// How often a document is read if its attachments keep changing.
    private static let maxAttempts = 5

    private let lines: DocumentLines
    private let counter: ExportCounter
    private let reader: DocumentReader
    /// Whether a document that has changed meanwhile is exported in its current state; false if only this revision is
    /// wanted.
    private let exportsCurrentState: Bool
    /// Nil if documents keep their stubs.
    private let attachments: AttachmentExport?
    private let expiryReader: ExpiryReader
    /// Expiry times of the documents of a batch that expire.
    private var expiries: [DocumentID: [UInt8]] = [:]
    private var selection: ExportSelection
    private var waiting = WaitingDocuments()
    private(set) var sample: DatabaseSample

    init(
        to lines: DocumentLines, _ selection: ExportSelection, counter: ExportCounter, gateway: Gateway,
        contact: GatewayContact, attachments: AttachmentExport?, exportsCurrentState: Bool, sample: DatabaseSample
    ) {
        self.lines = lines
        self.selection = selection
        self.counter = counter
        expiryReader = ExpiryReader(gateway: gateway, contact: contact)
        reader = DocumentReader(gateway: gateway, contact: contact)
        self.exportsCurrentState = exportsCurrentState
        self.attachments = attachments
        self.sample = sample
    }

    /// The ids the feed has returned; nil if the feed is not read.
    var seen: SeenDocuments? { selection.seen }

    func beginFeed() { selection.beginFeed() }

    // MARK: - Expiry

    /// Reads the expiry times of a batch's documents, which are not in the rows.
    nonisolated(nonsending) func readExpiries(of documents: [(id: DocumentID, byteCount: Int)]) async throws {
        expiries = try await expiryReader.expiries(of: documents)
    }

    /// Whether ``readExpiries(of:)`` sends requests.
    var keepsExpiry: Bool { expiryReader.gateway.keepsExpiry }

    private func withExpiry(_ document: JSONValue, _ id: () -> DocumentID) -> JSONValue {
        guard !expiries.isEmpty, let expiry = expiries[id()], let text = document.copied() else { return document }
        return text.expiring(expiry).root
    }

    // MARK: - Rows

    // Each returns true if the waiting documents must be written now.

    func export(_ document: ListedDocument) -> Bool {
        carryOut(ExportStep(document), id: { document.id }, revision: { document.revision })
    }

    /// Reads the document if its body was not in the feed.
    nonisolated(nonsending) func export(_ change: Change) async throws -> Bool {
        var step = ExportStep(change)
        var found: RevisionID?
        if case .read = step {
            let lookup = try await reader.read(change.id)
            step = ExportStep(lookup)
            found = lookup.revision
        }
        if step.isStateKnown { selection.noteSeen(change.id) }
        return carryOut(step, id: { change.id }, revision: { found ?? change.revision })
    }

    func export(_ answer: RevisionsReader.Answer) -> Bool {
        switch answer {
        case .unreadable(let key, let reason):
            counter.noteUnreadable(key.id, key.revision, reason)
            return false
        case .revision(let text, let key):
            // A selector is not applied to tombstones.
            guard text.root["_deleted"]?.bool != true else {
                return write(text.root, isTombstone: true, id: { key.id }, revision: { key.revision })
            }
            return carryOut(.write(text.root), id: { key.id }, revision: { key.revision })
        }
    }

    // MARK: - Steps

    private func carryOut(
        _ step: ExportStep, attempt: Int = 1, id: () -> DocumentID, revision: () -> RevisionID?
    ) -> Bool {
        switch step {
        case .write(let document):
            sample.note(id())
            let document = withExpiry(document.withoutStorageVersions(), id)
            switch selection.membership(of: document) {
            case .belongs: return write(document, attempt: attempt, id: id, revision: revision)
            case .withdrawn: withdraw(id)
            case .undecidable(let reason): counter.noteUnreadable(id(), revision(), reason)
            }
        case .writeTombstone(let tombstone):
            guard selection.wantsTombstone(of: id()) else { break }
            let text = tombstone?.bytes ?? GeneratedLine.tombstone(of: id(), revision())[...]
            append(text, isTombstone: true)
        case .withdraw: withdraw(id)
        case .report(let reason): counter.noteUnreadable(id(), revision(), reason)
        case .read, .nothing: break
        }
        return false
    }

    /// Writes a document, or queues it if its attachments must be fetched.
    private func write(
        _ document: JSONValue, isTombstone: Bool = false, attempt: Int = 1, id: () -> DocumentID,
        revision: () -> RevisionID?
    ) -> Bool {
        let stubs = AttachmentStub.all(of: document)
        if attachments != nil, !isTombstone, attempt == 1 { counter.noteBlobs(of: document, id) }
        if stubs.isEmpty || attachments == nil {
            counter.note(stubs)
            append(document.bytes, isTombstone: isTombstone)
        } else {
            waiting.append(
                document,
                UnfetchedAttachments(
                    stubs: stubs, id: id(), revision: revision(), isTombstone: isTombstone, attempt: attempt))
        }
        return waiting.isFull
    }

    /// Writes a document after all earlier ones, including those that wait.
    private func append(_ document: ArraySlice<UInt8>, isTombstone: Bool = false) {
        if waiting.isEmpty {
            lines.append(document, isTombstone: isTombstone)
        } else {
            waiting.append(whole: document, isTombstone: isTombstone)
        }
    }

    /// Withdraws the earlier line of a document that no longer belongs to the export.
    private func withdraw(_ id: () -> DocumentID) {
        if selection.mustWithdraw(id()) { append(GeneratedLine.withdrawal(of: id())[...]) }
    }

    // MARK: - Attachments

    /// Fetches the attachments that documents wait for, then writes all waiting documents in their order.
    nonisolated(nonsending) func writeWaiting() async throws {
        guard let attachments, !waiting.isEmpty else { return }
        let now = waiting
        waiting = WaitingDocuments()
        var fetched = try await attachments.fetch(now.unfetched)[...]
        for document in now.documents {
            switch document {
            case .whole(let bytes, let isTombstone): append(bytes, isTombstone: isTombstone)
            case .withAttachments(let value, let unfetched):
                try await writeNewest(value, unfetched, fetched.popFirst() ?? [])
            }
        }
    }

    /// Writes a document, or its current state if it has changed meanwhile.
    private nonisolated(nonsending) func writeNewest(
        _ document: JSONValue, _ unfetched: UnfetchedAttachments, _ fetched: [AttachmentExport.FetchResult]
    ) async throws {
        guard let newer = try await newer(than: unfetched, fetched) else {
            return try await lines.append(document, unfetched, fetched)
        }
        _ = carryOut(
            ExportStep(newer), attempt: unfetched.attempt + 1, id: { unfetched.id }, revision: { newer.revision })
        try await writeWaiting()
    }

    /// Reads a document again if an attachment is missing. Nil means: write it as it is. It is then complete,
    /// unchanged, refused or unreadable, was read too often, or only this revision is wanted.
    private nonisolated(nonsending) func newer(
        than document: UnfetchedAttachments, _ fetched: [AttachmentExport.FetchResult]
    ) async throws -> DocumentLookup? {
        guard exportsCurrentState, document.attempt < Self.maxAttempts, fetched.contains(where: \.isMissing) else {
            return nil
        }
        switch try await reader.read(document.id) {
        case .refused, .found(document.revision, _): return nil
        case let lookup: return lookup
        }
    }
}

/// What an export does with one row.
enum ExportStep: Sendable {
    /// Write it if it matches the selector.
    case write(JSONValue)
    /// Write its tombstone if tombstones are wanted. The text is nil if the gateway sent none.
    case writeTombstone(JSONValue?)
    /// Read it now: its row has no body.
    case read
    /// Withdraw its earlier line: the document no longer exists.
    case withdraw
    /// Report that it is missing in the export.
    case report(reason: String)
    case nothing

    /// Whether the document's current state is known.
    var isStateKnown: Bool {
        switch self {
        case .write, .writeTombstone, .withdraw: true
        case .read, .report, .nothing: false
        }
    }
}

extension ExportStep {
    /// - Parameter change: A row of the feed, with bodies.
    init(_ change: Change) {
        switch change.kind {
        case .principal, .revoked, .failure: self = .nothing
        case .removed where !change.isDeleted: self = .nothing
        case .document: self = change.document.map { .write($0) } ?? .nothing
        case .tombstone, .removed: self = .writeTombstone(change.document)
        case .withoutBody: self = .read
        case .malformed(let error): self = .malformed(error)
        }
    }

    /// - Parameter document: A row of `_all_docs`, which lists live documents only.
    init(_ document: ListedDocument) {
        switch document.kind {
        case .document: self = document.document.map { .write($0) } ?? .nothing
        case .deleted, .missing: self = .nothing
        case .unreadable(let reason): self = .report(reason: reason)
        case .malformed(let error): self = .malformed(error)
        }
    }

    /// - Parameter lookup: The document as it is now.
    init(_ lookup: DocumentLookup) {
        switch lookup {
        case .found(_, let text): self = .write(text.root)
        case .deleted, .missing: self = .withdraw
        case .refused(let reason): self = .report(reason: reason)
        }
    }

    private static func malformed(_ error: JSONError) -> Self {
        .report(reason: "it is not JSON: \(error), at byte \(error.offset) of its row")
    }
}

/// Decides which documents belong to an export, and which of their earlier lines must be withdrawn.
///
/// A document that changes while the feed is read appears again. Its later line supersedes the earlier one.
struct ExportSelection {
    /// The decision for a live document.
    enum Membership: Equatable {
        case belongs
        case withdrawn
        case undecidable(reason: String)
    }

    private let matcher: DocumentMatcher?
    private let reportsDeletions: Bool
    private let canWithdraw: Bool
    /// The ids the feed has returned; nil if the feed is not read.
    private(set) var seen: SeenDocuments?

    /// - Parameter canWithdraw: Whether the file is read again at the end, so that lines can be omitted.
    init(_ settings: ExportSettings, seen: SeenDocuments?, canWithdraw: Bool) {
        matcher = settings.filter.map { DocumentMatcher($0) }
        reportsDeletions = settings.reportsDeletions
        self.canWithdraw = canWithdraw
        self.seen = seen
    }

    /// Call when the feed is read from now on.
    mutating func beginFeed() { seen = SeenDocuments() }

    /// Call for each document that the feed returns, before deciding about it.
    mutating func noteSeen(_ id: @autoclosure () -> DocumentID) { seen?.note(id()) }

    func membership(of document: JSONValue) -> Membership {
        do { return try matcher?.matches(document) != false ? .belongs : .withdrawn } catch {
            return .undecidable(reason: "the selector can't be evaluated: \(error)")
        }
    }

    /// Whether a tombstone is written. It may supersede an earlier line of the same document.
    func wantsTombstone(of id: @autoclosure () -> DocumentID) -> Bool {
        reportsDeletions || seen?.mayBeRepeated(id()) == true
    }

    /// Whether a document outside the export may have an earlier line, which must be withdrawn.
    func mustWithdraw(_ id: @autoclosure () -> DocumentID) -> Bool {
        guard canWithdraw, let seen else { return false }
        return seen.mayBeRepeated(id())
    }
}

/// Reads the current state of documents, one by one.
///
/// Gives up on a document that keeps failing while other requests succeed. Waits for the end of an outage.
private struct DocumentReader: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// The history of these requests.
    let history = SharedHistory()

    /// - Throws: `RunError`, `CancellationError`.
    func read(_ id: DocumentID) async throws -> DocumentLookup {
        let answer = try await contact.askWithLimit(
            gateway, history: history, "reading a document failed; retrying", [LogKey.id: "\(id)"]
        ) { () async throws(GatewayError) in try await gateway.currentDocument(id) }
        switch answer {
        case .success(let lookup): return lookup
        case .failure(let error): return .refused(reason: error.description)
        }
    }
}

extension DocumentLookup {
    /// The revision that was found.
    fileprivate var revision: RevisionID? { if case .found(let revision, _) = self { revision } else { nil } }
}
