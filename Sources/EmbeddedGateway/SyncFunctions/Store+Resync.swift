internal import FoundationEssentials
internal import GRDB

extension Store {
    /// Runs the sync function again for the winning revision of each document, in one transaction. Afterwards all feeds
    /// end.
    ///
    /// - Parameter assignsNewSequences: Whether documents whose channels or grants change get new sequences, so
    ///   that clients past the old ones see the change.
    /// - Note: Source: `_resync` of Sync Gateway and its parameter `regenerate_sequences`.
    func resync(assignsNewSequences: Bool) async throws -> (processed: Int, changed: Int) {
        let (counts, sequence, era) = try await database.write { [self] db in
            var writer = try DocumentWriter(db, self, .administrator)
            let ids = try String.fetchAll(
                db, sql: "SELECT id FROM documents WHERE collection = \(collection) ORDER BY sequence")
            var changed = 0
            for id in ids where try writer.resync(id, assignsNewSequences: assignsNewSequences) { changed += 1 }
            return ((ids.count, changed), try writer.finish(), signal.era)
        }
        signal.advance(to: sequence, in: era)
        signal.endFeeds()
        return counts
    }
}

extension DocumentWriter {
    /// - Returns: Whether anything changed.
    fileprivate mutating func resync(_ id: String, assignsNewSequences: Bool) throws -> Bool {
        guard let current = try CurrentDocument.find(id, in: store.collection, db) else { return false }
        let row = try Row.fetchOne(
            db, sql: "SELECT sequence, expires FROM documents WHERE key = ?", arguments: [current.key])
        let parent = try Int64.fetchOne(
            db, sql: "SELECT parent FROM revisions WHERE key = ?", arguments: [current.winner.key])
        let winner = RevisionTree.Node(
            key: current.winner.key, id: current.winner.id, parent: parent, isDeleted: current.isDeleted)
        let decision = try redecide(winner, of: id)
        let known = try DocumentGrants(db: db).grants(of: current.key)
        guard decision.channels != current.channels || decision.grants != known else { return false }
        if assignsNewSequences { sequence += 1 }
        let at: Int = assignsNewSequences ? sequence : row?[0] ?? sequence
        try db.execute(
            sql: "UPDATE documents SET sequence = ?, expires = ? WHERE key = ?",
            arguments: [at, decision.expires, current.key])
        try db.execute(
            sql: "UPDATE revisions SET channels = ? WHERE key = ?",
            arguments: [DocumentChannels.write(decision.channels).map { Data($0) }, current.winner.key])
        try apply(decision, to: current.key, from: current.channels, at, (winner.id.description, winner.isDeleted))
        return true
    }
}
