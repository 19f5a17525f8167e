/// Checks that a process does not read a document again and again, and does nothing with it.
struct RepetitionCheck {
    /// More often than several documents that lead to one, and all attempts, can explain.
    private static let limit = 100
    /// In this time, in nanoseconds.
    private static let span: Int64 = 10_000_000_000

    private struct Reader: Hashable {
        let process: StoredRevision.Author
        let id: String
    }

    private struct Reads {
        /// How many revisions the document had.
        let revisions: Int
        let since: Int64
        var count = 0
    }

    private var reads: [Reader: Reads] = [:]

    /// - Parameter uptime: The time, in nanoseconds.
    /// - Throws: ``Violation``.
    mutating func noteRead(_ document: StoredDocument, by process: StoredRevision.Author, at uptime: Int64) throws {
        // Many documents lead to one of these.
        guard Scenario.putBody(document.id) == nil else { return }
        let reader = Reader(process: process, id: document.id)
        var known = reads[reader] ?? Reads(revisions: -1, since: uptime)
        if known.revisions != document.revisions.count || uptime - known.since > Self.span {
            known = Reads(revisions: document.revisions.count, since: uptime)
        }
        known.count += 1
        reads[reader] = known
        guard known.count > Self.limit, case .bot(let number) = process else { return }
        throw Violation(
            guarantee: .running,
            detail: "bot \(number) has read \(document.id) \(Self.limit) times in "
                + "\((uptime - known.since) / 1_000_000) ms, and nothing has changed")
    }
}
