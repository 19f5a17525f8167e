package import GatewayClient

/// What the state records about settled candidates.
package struct Record: Sendable {
    /// Documents whose decision was completed: their obsolete dead letters are deleted.
    var resolved: [Ledger.ResolvedDocument] = []
    package var deadLetters: [DeadLetter] = []
    /// The numbers of retried dead letters. A number that a new dead letter takes over stays.
    var retried: [Int] = []
    package var times = TimeChanges()
    package var seen = SeenChanges()
    /// Revisions that rules wrote, and the rules that led to them.
    var caused: [Ledger.CausedRevision] = []
    var ownWrites: [OwnWrite] = []
    /// Documents that crashed the process before, and whose decision it has survived now.
    package var survivedDocuments: [DocumentID] = []
    /// Written only if the run keeps a trace.
    package var traces: [TraceEntry] = []
    /// Nil: no rule counts.
    package var counts: CountChanges?

    package init(
        resolved: [Ledger.ResolvedDocument] = [], deadLetters: [DeadLetter] = [], retried: [Int] = [],
        times: TimeChanges = TimeChanges(), seen: SeenChanges = SeenChanges(), caused: [Ledger.CausedRevision] = [],
        ownWrites: [OwnWrite] = [],
        survivedDocuments: [DocumentID] = [], traces: [TraceEntry] = [], counts: CountChanges? = nil
    ) {
        (
            self.resolved, self.deadLetters, self.retried, self.times, self.seen, self.caused, self.ownWrites,
            self.survivedDocuments, self.traces, self.counts
        ) = (resolved, deadLetters, retried, times, seen, caused, ownWrites, survivedDocuments, traces, counts)
    }

    fileprivate var isEmpty: Bool {
        resolved.isEmpty && deadLetters.isEmpty && retried.isEmpty && times.isEmpty && seen.isEmpty && caused.isEmpty
            && ownWrites.isEmpty && survivedDocuments.isEmpty && traces.isEmpty && counts?.isEmpty != false
    }
}

/// The result of storing a ``Record``. Empty if the state is only read.
package struct StoredRecord: Sendable {
    /// The numbers of the dead letters, in order.
    package var deadLetterNumbers: [Int] = []
    /// The documents that had obsolete dead letters, and how many.
    package var dropped: [(id: DocumentID, count: Int)] = []
    /// Whether there is a total to write.
    package var hasChangedTotal = false
}

extension Ledger {
    /// Saves a record in one transaction.
    ///
    /// - Throws: ``StateError``: nothing was written.
    @discardableResult
    package func store(_ record: Record) async throws(StateError) -> StoredRecord {
        guard !record.isEmpty else { return StoredRecord() }
        return try await write { database in
            var stored = StoredRecord()
            let deadLetters = DeadLetters(database)
            stored.dropped = try deadLetters.dropObsolete(of: record.resolved)
            stored.deadLetterNumbers = try deadLetters.insert(record.deadLetters, ruleSetHash: self.ruleSetHash)
            try self.record(record.traces + self.traces(of: record.deadLetters, stored), in: database)
            try deadLetters.drop(record.retried.filter { !stored.deadLetterNumbers.contains($0) })
            try record.times.record(in: database)
            try record.seen.record(in: database)
            try Self.record(record.caused, in: database)
            try self.record(record.ownWrites, in: database)
            try Self.forgetInterruptions(of: record.survivedDocuments, in: database)
            // Last, because no other process can count until the transaction ends.
            if let counts = record.counts, !counts.isEmpty { stored.hasChangedTotal = try counts.record(in: database) }
            return stored
        } ?? StoredRecord()
    }

    private func traces(of deadLetters: [DeadLetter], _ stored: StoredRecord) -> [TraceEntry] {
        TraceEntry.entries(of: deadLetters, stored.deadLetterNumbers)
            + stored.dropped.map { .deadLettersRemoved($0.id, count: $0.count) }
    }
}
