internal import DocumentFlow
internal import GatewayClient

/// Tombstones by the indexes of their candidates: of candidates without content, or whose write conflicted.
struct Tombstones {
    private(set) var read: [Int: DocumentLookup] = [:]
    /// Candidates whose tombstones were not read yet, because the earlier ones were large.
    private(set) var unread: Set<Int> = []

    /// Reads the candidates' tombstones that the gateway still has, until `limit` bytes have arrived.
    ///
    /// - Parameter lookups: The listed documents. Sync Gateway lists no tombstones: tombstones that are found are set.
    init(
        of candidates: [Candidate], _ lookups: inout [DocumentLookup], _ reader: CurrentDocumentReader, limit: Int
    ) async throws {
        let unlisted = zip(lookups.indices, candidates).filter { index, candidate in
            if case .missing = lookups[index] { candidate.isConfirmed(by: .missing) } else { false }
        }
        let found = try await reader.readTombstones(of: unlisted.map(\.1.id), limit: limit)
        for ((index, candidate), found) in zip(unlisted, found) {
            if case .found(let revision, _) = found { lookups[index] = .deleted(revision) }
            if candidate.content.unreadTombstone != nil { read[index] = found }
        }
        unread.formUnion(unlisted.dropFirst(found.count).map(\.0))
        var named: [(index: Int, id: DocumentID, revision: RevisionID)] = []
        for (index, (candidate, lookup)) in zip(candidates, lookups).enumerated()
        where read[index] == nil && !unread.contains(index) {
            guard candidate.isConfirmed(by: lookup), let revision = candidate.content.unreadTombstone else { continue }
            named.append((index, candidate.id, revision))
        }
        let revisions = try await reader.readRevisions(named.map { ($0.id, $0.revision) }, limit: limit)
        for (name, revision) in zip(named, revisions) { read[name.index] = revision }
        unread.formUnion(named.dropFirst(revisions.count).map(\.index))
    }
}
