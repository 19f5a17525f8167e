internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Decides which documents belong to an export, and which of their earlier lines must be withdrawn.
///
/// A document that changes while the feed is read comes again. A later line of it supersedes the earlier one.
struct ExportSelection {
    /// What becomes of a live document.
    enum Verdict: Equatable {
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

    func verdict(on document: JSONValue) -> Verdict {
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
