internal import DocumentFlow
internal import GatewayClient
internal import Revisions

// Documents with conflicting leaf revisions: their leaves are read before the decision, in portions, as the memory budget
// allows. Their sizes are unknown.
extension Round {
    /// Reads the leaves of candidates that may have several. Candidates for which there is no room are left to the next
    /// round.
    mutating func readConflicts() async throws {
        guard let resolver = context.conflicts else { return }
        let deadLettered = context.state.deadLettered
        var left = active.indices.filter { index in
            let candidate = active[index].candidate
            return candidate.mayBeInConflict(
                hasDeadLetters: deadLettered.knows(candidate.id) && !InjectedFault.uncheckedConflict.isActive)
        }[...]
        guard !left.isEmpty else { return }
        var reading: MemoryBudget.Reading?
        var (bytes, isSingle) = (0, false)
        while !left.isEmpty, bytes < context.limits.bytes {
            let portion = await context.flow.budget.portion(of: .leaves, isSingle: isSingle)
            // It holds nothing, but would keep this round waiting for itself.
            if bytes == 0 { reading = nil }
            guard let begun = try await begin(portion, after: reading) else { break }
            reading = begun
            let read = try await read(portion, of: left, resolver, begun)
            for index in left.prefix(read.documentCount) { take(read, of: index) }
            left = left.dropFirst(read.documentCount)
            bytes += read.byteCount
            // The next document is probably as large as this one.
            isSingle = read.documentCount == 0 || isSingle && read.byteCount > portion.limit
        }
        if let reading { readings.append(reading) }
        // There is no room for the others now.
        for index in left { follow(active[index].leave(), of: index) }
        removeFinished()
    }

    /// - Parameter reading: The reading that the portion continues. Nil: nothing was read yet, so wait for room.
    /// - Returns: Nil if there is no room.
    private func begin(
        _ portion: MemoryBudget.Portion, after reading: MemoryBudget.Reading?
    ) async throws -> MemoryBudget.Reading? {
        let budget = context.flow.budget
        guard let reading else { return try await budget.beginReading(portion) }
        return await budget.continueReading(portion) ? reading : nil
    }

    private func read(
        _ portion: MemoryBudget.Portion, of places: ArraySlice<Int>, _ resolver: ConflictResolver,
        _ reading: MemoryBudget.Reading
    ) async throws -> ReadLeaves {
        let budget = context.flow.budget
        do {
            let read = try await resolver.conflicts(
                among: places.map { (active[$0].candidate.id, active[$0].candidate.knownLeaves) },
                LeavesPortion(limit: portion.limit, isSingle: portion.isSingle))
            await budget.end(portion, bytes: Content.copies * read.byteCount, of: reading)
            return read
        } catch {
            await budget.end(portion, bytes: 0, of: reading)
            throw error
        }
    }

    private mutating func take(_ read: ReadLeaves, of index: Int) {
        let answer: CandidateProgress.Found =
            switch read.found[active[index].candidate.id] {
            case .read(let conflict)?: .conflict(conflict)
            case .unreadable(let reason)?: .unreadable(reason: "a leaf revision can't be read: \(reason)")
            case nil: .noConflict
            }
        follow(active[index].take(answer), of: index)
    }
}
