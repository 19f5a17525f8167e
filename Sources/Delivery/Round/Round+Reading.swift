internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

// Candidates whose documents must be read, because the feed did not include them or because they may have changed
// since. Their sizes are unknown, so they are read in portions, as the memory budget allows.

extension RoundContext {
    func mustBeRead(_ candidate: Candidate) -> Bool {
        // The feed and lists do not show when a document expires.
        candidate.content.isUnread
            || gateway.keepsExpiry && candidate.content.isExpiryUnknown && !candidate.reason.countsOnly
    }
}

extension Round {
    /// Reads the candidates' current documents, unless they are in memory. Changes that arrived for them meanwhile are
    /// merged in. Candidates for which there is no room are put back into the queue.
    ///
    /// - Parameter open: Emptied.
    mutating func read(_ open: inout [Candidate], _ sender: inout BulkSender) async throws {
        var left = open[...]
        open = []
        guard left.contains(where: context.mustBeRead) else {
            active = left.map { CandidateProgress($0) }
            return
        }
        left = await emptied(left)[...]
        while !left.isEmpty, active.reduce(0, { $0 + $1.candidate.content.byteCount }) < context.limits.bytes {
            let budget = context.flow.budget
            let portion = await budget.portion(of: .candidates, isSingle: sender.reader.most == 1)
            let reading: MemoryBudget.Reading
            if let begun = self.reading, !active.isEmpty {
                guard await budget.continueReading(portion) else { break }
                reading = begun
            } else {
                self.reading = nil
                reading = try await budget.beginReading(portion)
                self.reading = reading
            }
            let before = active.count
            do { try await read(portion, of: &left, &sender) } catch {
                await budget.end(portion, bytes: 0, of: reading)
                throw error
            }
            let cost = active[before...].reduce(0) { $0 + $1.candidate.content.cost }
            await budget.end(portion, bytes: cost, of: reading)
        }
        if !left.isEmpty { await context.flow.queue.putBackFirst(left) }
    }

    /// Reads one portion of the remaining candidates.
    private mutating func read(
        _ portion: MemoryBudget.Portion, of left: inout ArraySlice<Candidate>, _ sender: inout BulkSender
    ) async throws {
        var group = Array(left.prefix(min(context.limits.documents, sender.reader.most)))
        for index in group.indices { await context.flow.mergeWaiting(into: &group[index]) }
        left.replaceSubrange(left.startIndex..<left.startIndex + group.count, with: group)
        let newestDeadLetter = try await context.state.deadLettered.newest(in: context.state.ledger)
        let ids = group.map(\.id)
        let answers = try await sender.reader.readBatch(ids[...], limit: portion.limit)
        await context.flow.queue.noteRead(ids)
        guard var lookups = answers else { return }
        let tombstones = try await Tombstones(of: group, &lookups, sender.reader, limit: portion.limit)
        var unread: [Candidate] = []
        for (index, (var candidate, lookup)) in zip(group, lookups).enumerated() {
            candidate.content.highestDeadLetterNumber = newestDeadLetter
            guard !tombstones.unread.contains(index) else {
                unread.append(candidate)
                continue
            }
            add(CandidateProgress(candidate), found(lookup, tombstones.read[index], for: candidate))
        }
        left = unread + left.dropFirst(lookups.count)
    }

    private mutating func add(_ progress: CandidateProgress, _ found: CandidateProgress.Found) {
        var progress = progress
        let command = progress.take(found)
        follow(command, of: progress)
        if !progress.isOver { active.append(progress) }
    }

    /// The read result for a candidate's document.
    ///
    /// - Parameter tombstone: The tombstone that was read; nil if none was.
    private func found(_ lookup: DocumentLookup, _ tombstone: DocumentLookup?, for candidate: Candidate)
        -> CandidateProgress.Found
    {
        guard candidate.isConfirmed(by: lookup) else {
            return switch lookup {
            case .found(let revision, let document): .document(revision, document.bytes)
            case .deleted, .missing: .gone(context.state.counts?.contributed([]))
            case .refused(let reason): .unreadable(reason: "can't be read again: \(reason)")
            }
        }
        return switch tombstone {
        case .refused(let reason)?: .unreadable(reason: "can't be read again: \(reason)")
        case .found(_, let text)? where text.root["_deleted"]?.bool == true: .tombstone(text.bytes)
        // A gateway may have dropped the content, or may hide it from this user.
        default: .tombstone(nil)
        }
    }

    /// Drops the documents that are read again, and returns their memory. Tombstones are kept, because they may not be
    /// readable again. Their memory is counted again together with the documents that are read.
    private func emptied(_ candidates: ArraySlice<Candidate>) async -> [Candidate] {
        var freed = 0
        let emptied = candidates.map { candidate in
            var candidate = candidate
            if !candidate.content.isDeleted { candidate.content.drop() }
            freed += candidate.content.releaseBudget()
            return candidate
        }
        await context.flow.budget.returnRoom(bytes: freed, documents: 0)
        return emptied
    }
}
