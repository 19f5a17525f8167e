internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

// Tombstones that were only named, or whose write conflicted.
extension BulkWriter {
    /// Tombstones of some candidates, by the candidates' places.
    struct Tombstones {
        fileprivate(set) var read: [Int: DocumentLookup] = [:]
        /// Nothing is known of these yet: others were large.
        fileprivate(set) var isLeft: Set<Int> = []
    }

    /// Reads the tombstones that the candidates name, as far as the gateway has them now, until `limit` bytes have
    /// arrived.
    ///
    /// - Parameter lookups: What the list shows. Sync Gateway lists no tombstones: where one is found, it is set.
    func tombstones(
        of candidates: [Candidate], _ lookups: inout [DocumentLookup], _ reader: CurrentDocumentReader, limit: Int
    ) async throws -> Tombstones {
        var tombstones = Tombstones()
        let unlisted = zip(lookups.indices, candidates).filter { index, candidate in
            if case .missing = lookups[index] { candidate.isConfirmed(by: .missing) } else { false }
        }
        let found = try await reader.readTombstones(of: unlisted.map(\.1.id), limit: limit)
        for ((index, candidate), found) in zip(unlisted, found) {
            if case .found(let revision, _) = found { lookups[index] = .deleted(revision) }
            if candidate.unreadTombstone != nil { tombstones.read[index] = found }
        }
        tombstones.isLeft.formUnion(unlisted.dropFirst(found.count).map(\.0))
        var named: [(index: Int, id: DocumentID, revision: RevisionID)] = []
        for (index, (candidate, lookup)) in zip(candidates, lookups).enumerated()
        where tombstones.read[index] == nil && !tombstones.isLeft.contains(index) {
            guard candidate.isConfirmed(by: lookup), let revision = candidate.unreadTombstone else { continue }
            named.append((index, candidate.id, revision))
        }
        let revisions = try await reader.readRevisions(named.map { ($0.id, $0.revision) }, limit: limit)
        for (name, revision) in zip(named, revisions) { tombstones.read[name.index] = revision }
        tombstones.isLeft.formUnion(named.dropFirst(revisions.count).map(\.index))
        return tombstones
    }

    /// Gives the candidate its tombstone, or settles it if that can't be read.
    ///
    /// - Parameter tombstone: As it was read; nil if the candidate has it.
    func apply(
        tombstone: DocumentLookup?, to candidate: Candidate, _ open: inout [Candidate], _ settled: inout Settlement
    ) {
        var candidate = candidate
        switch tombstone {
        case .refused(let reason)?:
            return settled.deadLetter(candidate, candidate.deadLetter(reason: "can't be read again: \(reason)"))
        case .found(_, let text)? where text.root["_deleted"]?.bool == true: candidate.setTombstone(text.bytes)
        // A gateway may have dropped the content, or not show it to this user.
        default: candidate.setTombstone(nil)
        }
        open.append(candidate)
    }
}
