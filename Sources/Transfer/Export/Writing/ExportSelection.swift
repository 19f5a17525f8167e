internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// What an export does with one row.
enum ExportStep: Sendable {
    /// Write it, if it matches the selector.
    case write(JSONValue)
    /// Write its tombstone, if it is wanted. The text is nil if the gateway sent none.
    case writeTombstone(JSONValue?)
    /// Read it now: it came without its body.
    case read
    /// Withdraw its earlier line: it does not exist any more.
    case withdraw
    /// Report that it is missing in the export.
    case report(reason: String)
    case nothing

    /// Whether the gateway said what the document is now.
    var isOfKnownState: Bool {
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
/// A document that changes while the feed is read comes again. A later line of it supersedes the earlier one.
struct ExportSelection {
    /// What becomes of a live document.
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

    /// - Parameter canWithdraw: Whether the file is read again at the end, so that lines can be left out.
    init(_ settings: ExportSettings, seen: SeenDocuments?, canWithdraw: Bool) {
        matcher = settings.filter.map { DocumentMatcher($0) }
        reportsDeletions = settings.reportsDeletions
        self.canWithdraw = canWithdraw
        self.seen = seen
    }

    /// The feed is read from now on.
    mutating func beginFeed() { seen = SeenDocuments() }

    /// Call for each document that the feed returns, before deciding about it.
    mutating func noteSeen(_ id: @autoclosure () -> DocumentID) { seen?.note(id()) }

    func membership(of document: JSONValue) -> Membership {
        do { return try matcher?.matches(document) != false ? .belongs : .withdrawn } catch {
            return .undecidable(reason: "the selector can't be decided: \(error)")
        }
    }

    /// Whether a tombstone is written. It may supersede an earlier line of the same document.
    func wantsTombstone(of id: @autoclosure () -> DocumentID) -> Bool {
        reportsDeletions || seen?.mayBeRepeated(id()) == true
    }

    /// Whether a document that does not belong to the export may have a line, which must be withdrawn.
    func mustWithdraw(_ id: @autoclosure () -> DocumentID) -> Bool {
        guard canWithdraw, let seen else { return false }
        return seen.mayBeRepeated(id())
    }
}
