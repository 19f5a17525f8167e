import GatewayClient
import TestKit
import Testing

@testable import Delivery
@testable import DocumentFlow

@Suite struct CandidateQueueTests {
    private func candidates(_ ids: [String], bytes: Int = 1) -> [Candidate] {
        var tracker = SafeSequenceTracker(start: .start)
        return ids.enumerated().map { index, id in
            Candidate(
                DocumentID(id), Content(RevisionID("\(index + 1)-a"), [UInt8](repeating: 0, count: bytes)),
                reason: Reason(sequence: sequence(index + 1)),
                acknowledgements: Acknowledgements(tracker.open(sequence(index + 1))))
        }
    }

    @Test func batchIsLimitedByCountAndBytes() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "b", "c", "d"], bytes: 10))
        #expect(await queue.take(limit: 3, byteLimit: 1000).map(\.id) == ["a", "b", "c"])
        #expect(await queue.take(limit: 3, byteLimit: 1000).map(\.id) == ["d"])
    }

    @Test func candidateLargerThanTheByteLimitGoesAlone() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "b"], bytes: 10))
        #expect(await queue.take(limit: 3, byteLimit: 5).map(\.id) == ["a"])
        #expect(await queue.take(limit: 3, byteLimit: 5).map(\.id) == ["b"])
    }

    @Test func candidatesPutBackFirstComeBeforeOthers() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "b", "c", "d"]))
        let taken = await queue.take(limit: 3, byteLimit: 1000)
        await queue.putBackFirst(taken[1...])
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["b", "c", "d"])
    }

    /// A merged candidate costs the sum of both minus the released bytes.
    @Test func mergingReleasesUnneededBytes() async {
        for isDeleted in [true, false] {
            let queue = CandidateQueue()
            var all = candidates(["a", "a"], bytes: 10)
            all[1].content.isDeleted = isDeleted
            let newer = Candidate(ofTimer: "a")
            var freed = await queue.submit(all)
            let more = await queue.submit([newer])
            (freed.bytes, freed.documents) = (freed.bytes + more.bytes, freed.documents + more.documents)
            #expect(freed.documents == 1)
            await queue.release(await queue.take(limit: 9, byteLimit: 1000))
            let left = await queue.take(limit: 9, byteLimit: 1000)
            #expect(all[0].content.cost + left[0].content.cost + freed.bytes == 60)
            #expect(left[0].content.cost == (isDeleted ? 30 : 0))
        }
    }

    /// Otherwise the event about an older revision would follow that about the one that was read.
    @Test(arguments: [false, true]) func changeThatArrivesAfterAReadIsReadAgain(isDeleted: Bool) async throws {
        let queue = CandidateQueue()
        await queue.noteRequest()
        var all = candidates(["a", "b", "a", "b", "a"], bytes: 10)
        for index in all.indices { all[index].content.isDeleted = isDeleted }
        await queue.submit(Array(all[..<2]))
        var taken = await queue.take(limit: 9, byteLimit: 1000)
        _ = await queue.mergeWaiting(into: &taken[0])
        await queue.noteRead(["a"])
        let freed = await queue.submit(Array(all[2..<4]))
        #expect(freed == CandidateQueue.FreedMemory(bytes: 30, documents: 0))
        await queue.release(taken)
        let left = await queue.take(limit: 9, byteLimit: 1000)
        #expect(left.map(\.id) == ["a", "b"])
        #expect(left.map(\.content.isUnread) == [true, false])
        #expect(left.map(\.content.cost) == [0, 30])
        // The next answer is newer than what was read.
        await queue.release(left)
        await queue.noteRequest()
        await queue.submit([all[4]])
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.content.isUnread) == [false])
    }

    /// The answer can be older than what is read, if the reading had not ended when the request was sent.
    @Test(arguments: [false, true]) func readingThatLastsLongerThanARequestIsRemembered(hasEnded: Bool) async throws {
        let queue = CandidateQueue()
        await queue.noteRequest()
        let all = candidates(["a", "a"], bytes: 10)
        await queue.submit([all[0]])
        var taken = await queue.take(limit: 9, byteLimit: 1000)
        _ = await queue.mergeWaiting(into: &taken[0])
        if hasEnded { await queue.noteRead(["a"]) }
        await queue.noteRequest()
        await queue.submit([all[1]])
        await queue.release(taken)
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.content.isUnread) == [!hasEnded])
    }

    /// Otherwise a conflict that has arisen while an earlier change waited would not be resolved.
    @Test func waitingChangeBringsItsLeaves() async throws {
        let queue = CandidateQueue()
        var all = candidates(["a", "a"])
        all[0].reason.leaves = [RevisionID("1-a")]
        all[1].reason.leaves = [RevisionID("2-a"), RevisionID("2-b")]
        await queue.submit(all)
        var taken = try #require(await queue.take(limit: 1, byteLimit: 1000).first)
        _ = await queue.mergeWaiting(into: &taken)
        #expect(taken.reason.leaves == all[1].reason.leaves)
    }

    @Test func heldDocumentsAreSkipped() async {
        let queue = CandidateQueue()
        await queue.hold(["b", "b"] as [DocumentID])
        await queue.submit(candidates(["a", "b", "b"]))
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["a"])
        await queue.release(["b"] as [DocumentID])
        await queue.submit(candidates(["c"]))
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["c"])
        await queue.release(["b"] as [DocumentID])
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.reason.sequence) == [sequence(3)])
        // A hold while a candidate of the same document is under way: both must end.
        await queue.hold(["b"] as [DocumentID])
        await queue.release(["b"] as [DocumentID])
        await queue.submit(candidates(["d"]))
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["d"])
        await queue.submit(candidates(["x", "x", "x", "b"]))
        await queue.release(["b"] as [DocumentID])
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["x", "b"])
        await queue.release(["a", "b", "c", "d", "x"] as [DocumentID])
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["x"])
        await queue.release(["x"] as [DocumentID])
        await queue.finish()
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    @Test func timerOrCountKeepsAWaitingTombstone() async {
        for isOfTimer in [true, false] {
            let queue = CandidateQueue()
            var all = candidates(["a", "a"])
            all[1].content.isDeleted = true
            let later =
                isOfTimer ? Candidate(ofTimer: "a") : Candidate(unread: "a", reason: Reason(countsOnly: true))
            await queue.submit(all + [later])
            _ = await queue.take(limit: 9, byteLimit: 1000)
            await queue.release(["a"] as [DocumentID])
            let taken = await queue.take(limit: 9, byteLimit: 1000)
            #expect(taken.map(\.content.isDeleted) == [true] && taken.map(\.reason.countsOnly) == [false])
        }
    }

    @Test func changesOfABusyDocumentAreMergedAndTheNewestCounts() async {
        let queue = CandidateQueue()
        let freed = await queue.submit(candidates(["a", "b", "a", "a", "a"], bytes: 5))
        #expect(freed == CandidateQueue.FreedMemory(bytes: 30, documents: 2))
        let first = await queue.take(limit: 9, byteLimit: 1000)
        #expect(first.map(\.reason.sequence) == [sequence(1), sequence(2)])
        await queue.release(first)
        let second = await queue.take(limit: 9, byteLimit: 1000)
        #expect(second.map(\.reason.sequence) == [sequence(5)])
        #expect(second.map(\.content.revision) == [RevisionID("5-a")])
        #expect(second.first?.acknowledgements.tickets.count == 3)
        await queue.release(second)
        await queue.finish()
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    /// A document that must be read first is not decided from an older row that arrived later.
    @Test func unreadCandidateStaysUnread() async {
        let queue = CandidateQueue()
        let all = candidates(["a", "a", "a"], bytes: 5)
        var unread = all[1]
        unread.content.drop()
        await queue.submit([all[0], unread, all[2]])
        await queue.release([all[0]])
        #expect(await queue.take(limit: 2, byteLimit: 1000).map(\.content.isUnread) == [false, true])
    }

    /// Regression: a queued row was decided from its old body after the document had been read again.
    @Test func secondReadCoversLaterChanges() async {
        let queue = CandidateQueue()
        var all = candidates(["a", "a", "b", "b"], bytes: 5)
        all[3].content.isDeleted = true
        await queue.submit(all)
        var first = await queue.take(limit: 9, byteLimit: 1000)
        let freed = await queue.mergeWaiting(into: &first[0])
        #expect(freed == CandidateQueue.FreedMemory(bytes: 15, documents: 1))
        #expect(first[0].acknowledgements.tickets.count == 2)
        // A later revision, which may be read, must not be decided before the tombstone.
        let freedByTombstone = await queue.mergeWaiting(into: &first[1])
        #expect(freedByTombstone == CandidateQueue.FreedMemory(bytes: 15, documents: 1))
        #expect(first[1].content.isDeleted && !first[1].content.isUnread && first[1].content.cost == 0)
        #expect(first[1].acknowledgements.tickets.count == 2 && first[1].reason.sequence == sequence(4))
        await queue.release(first)
        await queue.finish()
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    @Test func documentThatIsNoLongerVisibleIsASeparateChange() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a"]) + [Candidate(ofLost: "a", RevisionID("2-a"), sequence: nil)])
        var first = await queue.take(limit: 9, byteLimit: 1000)
        let nothing = await queue.mergeWaiting(into: &first[0])
        #expect(nothing == CandidateQueue.FreedMemory() && !first[0].content.isDeleted)
    }

    /// Regression: if other documents of the same batch had to be read, it was decided as a deletion.
    @Test func documentThatIsNoLongerVisibleIsNotDecidedAsADeletion() {
        var progress = CandidateProgress(Candidate(ofLost: "a", RevisionID("2-a"), sequence: nil))
        _ = progress.take(.tombstone(nil))
        #expect(progress.candidate.content.isLost)
    }

    /// A log names only the revision of a deletion.
    @Test func deletionIsReadIfARuleDecidesIt() {
        let read = Candidate(ofDeletion: "a", RevisionID("2-b"), sequence: nil, readsMembers: true)
        #expect(read.content.isUnread && read.content.unreadTombstone == RevisionID("2-b"))
        var tombstone = Candidate(ofDeletion: "a", RevisionID("2-b"), sequence: nil, readsMembers: false)
        let body = #"{"_id":"a","_rev":"2-b","_deleted":true}"#
        #expect(!tombstone.content.isUnread && tombstone.content.document == Array(body.utf8))
        // If the gateway returns no members, those from the feed are kept.
        tombstone.setTombstone(Array(#"{"_id":"a","_rev":"2-b","_deleted":true,"n":1}"#.utf8))
        tombstone.setTombstone(nil)
        #expect(tombstone.content.isDeleted && tombstone.content.document.count > body.utf8.count)
        #expect(tombstone.isConfirmed(by: .missing) && tombstone.isConfirmed(by: .deleted(RevisionID("2-b"))))
        #expect(!tombstone.isConfirmed(by: .deleted(RevisionID("4-d"))))
    }

    @Test(.limitedParallelism)
    func postponedCandidateWaitsAndOthersContinue() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "b"]))
        let first = await queue.take(limit: 1, byteLimit: 1000)
        let due = ContinuousClock.now + .seconds(3600)
        await queue.postpone([(due, first[0])])
        await queue.submit(candidates(["a"]))
        await queue.finish()
        #expect(await queue.take(limit: 9, byteLimit: 1000).map(\.id) == ["b"])
        await queue.release(["b"] as [DocumentID])
        #expect(await queue.nextDue() == due)
        await queue.resume(dueBy: due - .seconds(1))
        async let next = queue.take(limit: 9, byteLimit: 1000)
        await queue.resume(dueBy: due)
        let resumed = await next
        #expect(resumed.map(\.id) == ["a"])
        await queue.release(resumed)
        let last = await queue.take(limit: 9, byteLimit: 1000)
        #expect(last.map(\.id) == ["a"])
        await queue.release(last)
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    @Test(.limitedParallelism)
    func stoppingRunLeavesPostponedCandidates() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "b"]))
        let taken = await queue.take(limit: 9, byteLimit: 1000)
        await queue.postpone([(.now + .seconds(3600), taken[0])])
        await queue.finish()
        await queue.stopPostponing()
        await queue.postpone([(.now + .seconds(3600), taken[1])])
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    @Test(.limitedParallelism)
    func idleWriterGetsACandidateAtOnce() async {
        let queue = CandidateQueue()
        async let taken = queue.take(limit: 9, byteLimit: 1000)
        await queue.submit(candidates(["a"]))
        #expect(await taken.map(\.id) == ["a"])
    }

    @Test(.limitedParallelism)
    func finishedQueueEndsWithTheLastReleasedCandidate() async {
        let queue = CandidateQueue()
        await queue.submit(candidates(["a", "a"]))
        let first = await queue.take(limit: 9, byteLimit: 1000)
        await queue.finish()
        async let next = queue.take(limit: 9, byteLimit: 1000)
        await queue.release(first)
        let second = await next
        #expect(second.map(\.reason.sequence) == [sequence(2)])
        await queue.release(second)
        #expect(await queue.take(limit: 9, byteLimit: 1000).isEmpty)
    }

    @Test(.limitedParallelism)
    func abortEndsAllWaits() async {
        let queue = CandidateQueue()
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await queue.take(limit: 9, byteLimit: 1000).isEmpty } }
            group.addTask {
                await queue.abort()
                return true
            }
            for await isEmpty in group { #expect(isEmpty) }
        }
    }

    @Test(.limitedParallelism)
    func cancellationEndsTheWaitForCandidates() async {
        let queue = CandidateQueue()
        let task = Task { await queue.take(limit: 9, byteLimit: 1000) }
        task.cancel()
        #expect(await task.value.isEmpty)
    }

    // MARK: - Gathering

    private func numbered(_ numbers: Range<Int>, bytes: Int = 1) -> [Candidate] {
        candidates(numbers.map(String.init), bytes: bytes)
    }

    @Test func secondWriterWaitsForEnoughCandidates() async {
        let start = ContinuousClock.now
        let queue = CandidateQueue(now: { start })
        await queue.gather(true)
        await queue.submit(numbered(0..<1))
        #expect(await queue.take(limit: 250, byteLimit: 1000, writer: 0).count == 1)
        async let second = queue.take(limit: 250, byteLimit: 1000, writer: 1)
        for number in 1...BatchingPolicy.worthwhileDocuments { await queue.submit(numbered(number..<number + 1)) }
        #expect(await second.count == BatchingPolicy.worthwhileDocuments)
    }

    @Test func onlyWriterTakesAllCandidates() async {
        let start = ContinuousClock.now
        let queue = CandidateQueue(now: { start })
        await queue.gather(true)
        await queue.submit(numbered(0..<1))
        #expect(await queue.take(limit: 250, byteLimit: 1000, writer: 0).count == 1)
        await queue.submit(numbered(1..<4))
        #expect(await queue.take(limit: 250, byteLimit: 1000, writer: 0).count == 3)
    }

    @Test func endOfTheFeedHoldsNothingBack() async {
        let start = ContinuousClock.now
        for isEnd in [false, true] {
            let queue = CandidateQueue(now: { start })
            await queue.gather(true)
            await queue.submit(numbered(0..<1))
            #expect(await queue.take(limit: 250, byteLimit: 1000, writer: 0).count == 1)
            await queue.submit(numbered(1..<2))
            if isEnd { await queue.finish() } else { await queue.gather(false) }
            #expect(await queue.take(limit: 250, byteLimit: 1000, writer: 1).count == 1)
        }
    }
}

@Suite struct MemoryBudgetTests {
    @Test(.limitedParallelism)
    func readerWaitsForRoom() async throws {
        let budget = MemoryBudget(MemoryPool(bytes: 100), documents: 10)
        await budget.take(bytes: 250, documents: 1)
        async let room: Void = budget.room()
        await budget.returnRoom(bytes: 200, documents: 0)
        try await room
    }

    @Test(.limitedParallelism)
    func manySmallDocumentsAreLimitedByTheirNumber() async throws {
        let budget = MemoryBudget(MemoryPool(bytes: 100), documents: 10)
        await budget.take(bytes: 10, documents: 10)
        async let room: Void = budget.room()
        await budget.returnRoom(bytes: 1, documents: 1)
        try await room
    }

    /// Regression: it kept looping, because there was room for bytes.
    @Test(.limitedParallelism)
    func waitingReaderSleeps() async throws {
        let budget = MemoryBudget(MemoryPool(bytes: 100), documents: 10)
        await budget.take(bytes: 10, documents: 10)
        async let room: Void = budget.room()
        for _ in 1...1000 { await Task.yield() }
        await budget.returnRoom(bytes: 1, documents: 1)
        try await room
        #expect(await budget.wakeCount <= 1)
    }

    @Test(.limitedParallelism)
    func cancellationEndsTheReadersWait() async {
        let budget = MemoryBudget(MemoryPool(bytes: 100), documents: 10)
        await budget.take(bytes: 100, documents: 1)
        let task = Task { try await budget.room() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@Suite struct GroupingTests {
    @Test(arguments: [
        ([1, 1, 1, 1, 1], 2, 100, [[1, 1], [1, 1], [1]]),
        ([50, 60, 10, 200, 5], 9, 100, [[50], [60, 10], [200], [5]]),
        ([], 2, 100, []),
        ([500], 2, 100, [[500]]),
    ])
    func elementsAreGroupedByCountAndBytes(sizes: [Int], count: Int, bytes: Int, expected: [[Int]]) {
        #expect(sizes.grouped(count: count, bytes: bytes, size: { $0 }).map(Array.init) == expected)
    }
}
