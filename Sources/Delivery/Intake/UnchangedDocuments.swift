internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Ends rows of the feed in which rules with `changed`, `enter` or `leave` see nothing new, before they are queued:
/// rows that are read again, and changes of other members. Most of the time of such a row would be spent on its way
/// through the queue.
///
/// One per intake. Not for a fleet that shares its work: other members may be deciding the same documents.
final class UnchangedDocuments {
    private typealias Match = ChangeFilter.Match

    private let lastSeen: LastSeenDocuments
    private var pace = LookupPace()

    init(_ lastSeen: LastSeenDocuments) { self.lastSeen = lastSeen }

    /// Removes the matches of unchanged documents. Their rows then count as rows that need no work.
    ///
    /// A row must not be compared while an older change of its document is in progress: the rules have not seen that
    /// change yet, and it may still become a dead letter or set a timer.
    ///
    /// - Throws: ``StateError``.
    func remove(
        from matches: inout [ChangeFilter.Match], _ filter: ChangeFilter, _ queue: CandidateQueue
    ) async throws {
        let asked = matches.indices.filter { matches[$0].isOnlyCompared }
        guard pace.mayLookUp(asked.count) else { return }
        let ids = asked.map { matches[$0].id }
        var busy = await queue.busy(among: ids)
        let known = try await lastSeen.lastSeen(of: ids)
        // A change may have been queued while the state was read.
        busy.formUnion(await queue.busy(among: ids))
        busy.formUnion(ids.filter(filter.hasObsoleteRecords))
        let ended = Self.unchanged(matches, Dictionary(uniqueKeysWithValues: zip(asked, known)), busy, filter)
        pace.note(ended: ended.count, of: asked.count)
        Self.remove(ended, from: &matches)
    }

    /// - Parameters:
    ///   - known: The last seen states of some matches, by index.
    ///   - kept: Documents that must be decided.
    private static func unchanged(
        _ matches: [ChangeFilter.Match], _ known: [Int: [String: LastSeen]], _ kept: Set<DocumentID>,
        _ filter: ChangeFilter
    ) -> Set<Int> {
        var kept = kept
        var unchanged: Set<Int> = []
        for (index, match) in matches.enumerated() {
            if let lastSeen = known[index], let document = match.document, !kept.contains(match.id),
                filter.seesNothingNew(match, document, since: lastSeen)
            {
                unchanged.insert(index)
            } else {
                // Its later rows wait for it.
                kept.insert(match.id)
            }
        }
        filter.note.end()
        return unchanged
    }

    private static func remove(_ ended: Set<Int>, from matches: inout [ChangeFilter.Match]) {
        guard !ended.isEmpty else { return }
        var kept: [ChangeFilter.Match] = []
        var preceding: SequenceID?
        for (index, match) in matches.enumerated() {
            if ended.contains(index) {
                preceding = match.sequence
            } else {
                kept.append(match)
                if match.preceding == nil { kept[kept.count - 1].preceding = preceding }
                preceding = nil
            }
        }
        matches = kept
    }
}

/// Decides whether to look up what rules last saw. While few rows are unchanged, most lookups are omitted, because a row
/// with a difference is looked up again when it is decided.
///
/// A value without a clock: it counts batches.
struct LookupPace {
    /// A batch with a smaller share of unchanged rows makes lookups rarer.
    private static let worthwhileShare = 4
    private static let maxOmitted = 16

    /// The number of batches to omit after the last lookup.
    private var interval = 0
    private var omitted = 0

    /// Whether to look up the documents of the next batch. Counts it as omitted if not.
    ///
    /// - Parameter documents: Their number.
    mutating func mayLookUp(_ documents: Int) -> Bool {
        guard documents > 0 else { return false }
        guard omitted < interval else { return true }
        omitted += 1
        return false
    }

    /// Notes the result of a lookup.
    mutating func note(ended: Int, of documents: Int) {
        omitted = 0
        interval = ended * Self.worthwhileShare >= documents ? 0 : min(max(1, interval * 2), Self.maxOmitted)
    }
}

extension ChangeFilter {
    /// Records which document is being compared, in case it crashes the process.
    fileprivate func seesNothingNew(
        _ match: Match, _ document: JSONValue, since lastSeen: [String: LastSeen]
    ) -> Bool {
        note.begin(match.id, match.revision)
        return decider.seesNothingNew(in: document, since: lastSeen)
    }
}
