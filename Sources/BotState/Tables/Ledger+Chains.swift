package import GatewayClient
internal import LosslessJSON

// Which rules led to a revision that a `put` wrote. Such a revision is decided like any other; its chain tells how many
// rules lie between it and a change by another client.
extension Ledger {
    /// A revision that a `put` wrote.
    package struct CausedRevision: Sendable {
        /// The document that was written.
        let id: DocumentID
        /// The revision in the gateway's answer.
        let revision: RevisionID
        /// The rules that led to it, the last one included.
        let chain: RuleChain

        package init(id: DocumentID, revision: RevisionID, chain: RuleChain) {
            (self.id, self.revision, self.chain) = (id, revision, chain)
        }
    }

    /// Records revisions that `put`s wrote, in one transaction. Beyond 200,000, the oldest are deleted.
    ///
    /// - Parameter traces: Written in the same transaction, if the run keeps a trace.
    /// - Throws: ``StateError``: nothing was written.
    package func recordCausedRevisions(
        _ revisions: [CausedRevision], traces: [TraceEntry] = []
    ) async throws(StateError) {
        guard !revisions.isEmpty || !traces.isEmpty else { return }
        try await write { database in
            try Self.record(revisions, in: database)
            try self.record(traces, in: database)
        }
    }

    /// The same as part of a transaction.
    static func record(_ revisions: [CausedRevision], in database: any StateSession) throws {
        guard !revisions.isEmpty else { return }
        let insert = database.dialect.replace(
            into: "caused_revision", ["id", "revision", "chain"], key: ["id", "revision"], isOrdered: true)
        try database.executeEach(
            insert,
            revisions.map { caused in
                let chain = TextAsBytes(String(decoding: caused.chain.json, as: UTF8.self))
                return [TextAsBytes(caused.id.text), TextAsBytes(caused.revision.text), chain]
            })
        try database.execute(
            "DELETE FROM caused_revision WHERE rowid <= (SELECT MAX(rowid) FROM caused_revision) - ?",
            [ownWriteLimit])
    }

    /// The rules that led to each revision. The chain is empty if another client wrote it.
    func chains(
        of revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [RuleChain] {
        guard !revisions.isEmpty else { return [] }
        return try await read { database in
            let found = try database.rowsForEach(
                "SELECT chain FROM caused_revision WHERE id = ? AND revision = ?",
                revisions.map { [TextAsBytes($0.id.text), TextAsBytes($0.revision.text)] })
            return found.map { rows in
                guard let row = rows.first else { return RuleChain() }
                return RuleChain(json: Array((row[0] as TextAsBytes).text.utf8))
            }
        }
    }

    /// The chain of each revision. A revision without a record was written by another client, and begins a new chain.
    package func causes(
        of revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [RuleChain] {
        let recorded = try await chains(of: revisions)
        let unknown = recorded.indices.filter { recorded[$0].origin == 0 }
        guard !unknown.isEmpty else { return recorded }
        let last = try await read { database in
            try database.rowsForEach(
                "SELECT chain FROM caused_revision WHERE id = ? ORDER BY rowid DESC LIMIT 1",
                unknown.map { [TextAsBytes(revisions[$0].id.text)] }
            ).map { rows in rows.first.map { RuleChain(json: Array(($0[0] as TextAsBytes).text.utf8)) } }
        }
        var chains = recorded
        for (index, last) in zip(unknown, last) where recorded[index].rules.isEmpty {
            chains[index] = .begun(by: revisions[index].id, after: last)
        }
        return chains
    }

    /// Adds to each revision that rules wrote the causes of the revision before it.
    ///
    /// - Parameter earlier: The revision that each one replaces; nil: the document did not exist.
    package func joined(
        _ written: [CausedRevision], over earlier: [RevisionID?]
    ) async throws(StateError) -> [CausedRevision] {
        let known = written.indices.filter { earlier[$0] != nil }
        let chains = try await causes(of: known.map { (written[$0].id, earlier[$0] ?? RevisionID("")) })
        let before = Dictionary(uniqueKeysWithValues: zip(known, chains))
        return written.enumerated().map { index, caused in
            CausedRevision(id: caused.id, revision: caused.revision, chain: caused.chain.written(over: before[index]))
        }
    }
}
