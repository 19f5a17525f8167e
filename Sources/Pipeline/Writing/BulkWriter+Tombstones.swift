internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

// Tombstones that were only named.
extension BulkWriter {
    /// Reads those of them that the gateway confirms, until `limit` bytes have arrived.
    ///
    /// - Returns: What was read, by the index of its candidate.
    func tombstones(
        of candidates: [Candidate], _ lookups: [DocumentLookup], _ reader: CurrentDocumentReader, limit: Int
    ) async throws -> [Int: DocumentLookup] {
        var named: [(index: Int, id: DocumentID, revision: RevisionID)] = []
        for (index, (candidate, lookup)) in zip(candidates, lookups).enumerated() {
            guard candidate.isConfirmed(by: lookup), let revision = candidate.unreadTombstone else { continue }
            named.append((index, candidate.id, revision))
        }
        let read = try await reader.readRevisions(named.map { ($0.id, $0.revision) }, limit: limit)
        return Dictionary(uniqueKeysWithValues: zip(named.map(\.index), read))
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
