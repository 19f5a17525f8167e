internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// Candidates whose documents must be read: the feed did not bring them, or they may have changed since. Their sizes are
// unknown, so they are read in portions, as far as the memory budget has room.
extension BulkWriter {
    /// Takes out the candidates that must be read, unless all must: a writer waits for memory only while it holds none.
    ///
    /// - Returns: Those to settle after the others.
    func takeUnread(from open: inout [Candidate]) -> [Candidate] {
        let unread = open.filter(mustBeRead)
        guard !unread.isEmpty, unread.count < open.count else { return [] }
        open.removeAll(where: mustBeRead)
        return unread
    }

    private func mustBeRead(_ candidate: Candidate) -> Bool {
        // The feed and lists do not show when a document expires.
        candidate.isUnread || shared.gateway.keepsExpiry && candidate.lacksExpiry
    }

    /// Reads the candidates' documents as they are now, unless they are in memory. Changes that arrived for them
    /// meanwhile are merged in.
    ///
    /// Those for which there is no room are put back into the queue, and candidates without a document are settled: `open`
    /// keeps the others.
    ///
    /// - Returns: To be held as long as the documents; nil if nothing was read.
    func readAgain(
        _ open: inout [Candidate], _ sender: inout BulkSender
    ) async throws -> MemoryBudget.Reading? {
        guard open.contains(where: mustBeRead) else { return nil }
        var left = await emptied(open)[...]
        open = []
        var settled = Settlement()
        var reading: MemoryBudget.Reading?
        while !left.isEmpty, open.reduce(0, { $0 + $1.byteCount }) < limits.bytes {
            let budget = shared.budget
            let portion = await budget.portion(isAlone: sender.reader.most == 1)
            if reading == nil || open.isEmpty {
                reading = nil
                reading = try await budget.beginReading(portion)
            } else if !(await budget.goOn(portion)) {
                break
            }
            let before = open.count
            do { try await read(portion, of: &left, &open, &settled, &sender) } catch {
                await budget.end(portion, bytes: 0)
                throw error
            }
            await budget.end(portion, bytes: open[before...].reduce(0) { $0 + $1.cost })
        }
        try await finish(settled)
        if !left.isEmpty { await queue.putBackFirst(left) }
        return reading
    }

    /// Reads one portion of the candidates that are left.
    private func read(
        _ portion: MemoryBudget.Portion, of left: inout ArraySlice<Candidate>, _ open: inout [Candidate],
        _ settled: inout Settlement, _ sender: inout BulkSender
    ) async throws {
        let group = try await absorbing(left.prefix(min(limits.documents, sender.reader.most)))
        left.replaceSubrange(left.startIndex..<left.startIndex + group.count, with: group)
        let highestDeadLetterNumber = try await shared.deadLettered.newest(in: ledger)
        guard var lookups = try await sender.reader.readSeveral(group.map(\.id)[...], limit: portion.limit) else {
            return
        }
        let tombstones = try await tombstones(of: group, &lookups, sender.reader, limit: portion.limit)
        var unread: [Candidate] = []
        for (index, (var candidate, lookup)) in zip(group, lookups).enumerated() {
            candidate.highestDeadLetterNumber = highestDeadLetterNumber
            if tombstones.isLeft.contains(index) {
                unread.append(candidate)
            } else if candidate.isConfirmed(by: lookup) {
                apply(tombstone: tombstones.read[index], to: candidate, &open, &settled)
            } else {
                apply(lookup, to: candidate, &open, &settled)
            }
        }
        left = unread + left.dropFirst(lookups.count)
    }

    /// Gives the candidate the content that was read, or settles it if there is none.
    private func apply(
        _ lookup: DocumentLookup, to candidate: Candidate, _ open: inout [Candidate], _ settled: inout Settlement
    ) {
        var candidate = candidate
        switch lookup {
        case .found(let revision, let document):
            // Earlier conflicts are explained by the new revision.
            if revision != candidate.revision { candidate.unexplainedConflicts = 0 }
            candidate.setContent(revision, document.bytes)
            open.append(candidate)
        case .deleted, .missing:
            // The feed brings its tombstone, or has brought it: there is nothing left to write to, to wait for, or to
            // count. Dead letters may be those of the tombstone, about which this says nothing.
            if !candidate.isRetried { candidate.highestDeadLetterNumber = 0 }
            candidate.contributed = shared.counts?.contributed([])
            if candidate.countsOnly { return settled.passedOver.append(candidate) }
            candidate.times = []
            settled.end(candidate, isWrite: false)
        case .refused(let reason):
            settled.deadLetter(candidate, candidate.deadLetter(reason: "can't be read again: \(reason)"))
        }
    }

    /// Merges into each candidate what has arrived for its document meanwhile, and gives back the memory.
    private func absorbing(_ candidates: ArraySlice<Candidate>) async throws -> [Candidate] {
        var freed = CandidateQueue.Freed()
        var result: [Candidate] = []
        for var candidate in candidates {
            let more = await queue.absorbWaiting(into: &candidate)
            freed.bytes += more.bytes
            freed.documents += more.documents
            result.append(candidate)
        }
        await shared.budget.giveBack(bytes: freed.bytes, documents: freed.documents)
        return result
    }

    /// Drops the documents that are read anew, and gives back the memory. Tombstones stay: they may not be read anew. They
    /// are booked once more with what was read.
    private func emptied(_ candidates: [Candidate]) async -> [Candidate] {
        var freed = 0
        let emptied = candidates.map { candidate in
            var candidate = candidate
            if !candidate.isDeleted { candidate.dropContent() }
            freed += candidate.releaseBudget()
            return candidate
        }
        await shared.budget.giveBack(bytes: freed, documents: 0)
        return emptied
    }
}
