import Fleet
import Testing

extension WorkLogConformance {
    static let leading = [
        WorkLogConformance("changes and checkpoint are stored together") { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            #expect(term.sequence == nil && term.n == 0)
            let entries = [entry(1, id(0)), entry(2, id(1)), entry(3, id(0, 1))]
            let stored = try await log.append(entries, upTo: #""3::7""#, term)
            #expect(stored == Term(lease: term.lease, sequence: #""3::7""#, n: 3))
            let again = try #require(try await log.lead())
            #expect(again.sequence == #""3::7""# && again.n == 3)
            let changes = try await log.next(try await log.take(0), after: 0, limit: 10)
            #expect(changes == [LoggedChange(n: 1, entry: entries[0]), LoggedChange(n: 3, entry: entries[2])])
        },
        WorkLogConformance("the same changes are not appended twice") { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            _ = try await log.append([entry(1, id(0))], upTo: "1", term)
            await expectFenced { try await log.append([entry(1, id(0))], upTo: "1", term) }
            #expect(try await log.backlog().entries == 1)
        },
        WorkLogConformance("the checkpoint moves without changes too") { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            #expect(try await log.append([], upTo: "9", term).n == 0)
            #expect(try await log.lead()?.sequence == "9")
            #expect(try await log.answered()?.sequence == "9")
        },
        WorkLogConformance("every id is kept as it is") { bed in
            let log = try await bed.member("a")
            let ids = ["\u{0}", "a\u{0}b", "\u{e9}", "e\u{301}", "", "'\\\"{},", String(repeating: "x", count: 5_000)]
                .map { DocumentKey($0) }
            try await log.fill(ids)
            var read: [DocumentKey] = []
            for partition in 0..<4 {
                read += try await log.next(try await log.take(partition), after: 0, limit: 100).map(\.id)
            }
            #expect(Set(read) == Set(ids) && read.count == ids.count)
        },
        WorkLogConformance("a tombstone is returned") { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            var change = entry(1, id(2))
            change.kind = .deleted
            _ = try await log.append([change], upTo: "1", term)
            #expect(try await log.next(try await log.take(2), after: 0, limit: 1).first?.entry == change)
        },
        WorkLogConformance("all leaves of a document are returned") { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            let change = FeedEntry(sequence: "1", id: id(2), revision: "2-b", otherLeaves: ["2-a", "1-\u{e9}"])
            _ = try await log.append([change], upTo: "1", term)
            let claim = try await log.take(2)
            #expect(try await log.next(claim, after: 0, limit: 1).first?.entry == change)
            var outcome = PartitionOutcome(position: 1)
            outcome.parked = [ParkedChange(LoggedChange(n: 1, entry: change, parks: 1), delay: .zero, reason: "slow")]
            let parked = try await log.commit(claim, outcome)
            #expect(try await log.due(parked, limit: 1).first?.entry == change)
        },
        WorkLogConformance("rechecks are appended without a sequence") { bed in
            let log = try await bed.member("a")
            let first = try #require(try await log.lead())
            // Nothing is known of the feed yet.
            let looks = [FeedEntry(.due, id(0)), FeedEntry(.uncounted, id(1))]
            let before = try await log.append(looks, upTo: nil, first)
            #expect(before.sequence == nil && before.n == 2)
            #expect(try await log.answered() == nil)
            let term = try await log.append([entry(7, id(0))], upTo: "7", before)
            let after = try await log.append(looks, upTo: nil, term)
            #expect(after.sequence == "7" && after.n == 5)
            let zero = try await log.take(0)
            let changes = try await log.next(zero, after: 0, limit: 9)
            #expect(changes.map(\.n) == [1, 3, 4] && changes.map(\.entry.kind) == [.due, .changed, .due])
            #expect(changes[0].entry == looks[0])
            _ = try await log.commit(zero, PartitionOutcome(position: 4))
            _ = try await log.commit(try await log.take(1), PartitionOutcome(position: 2))
            #expect(try await log.answered() == AnsweredPosition(n: 3, sequence: "7"))
            _ = try await log.commit(try await log.refresh(try await log.take(1)), PartitionOutcome(position: 5))
            #expect(try await log.answered() == AnsweredPosition(n: 5, sequence: "7"))
        },
        WorkLogConformance("a place is passed although changes are parked") { bed in
            let log = try await bed.member("a")
            #expect(try await log.hasPassed(0))
            let term = try #require(try await log.lead())
            let entries = [entry(1, id(0)), FeedEntry(.uncounted, id(1)), entry(3, id(0, 1))]
            _ = try await log.append(entries, upTo: "3", term)
            #expect(try await log.hasPassed(1) == false)
            #expect(try await log.hasPassed(0))
            var outcome = PartitionOutcome(position: 1)
            outcome.parked = [
                ParkedChange(LoggedChange(n: 1, entry: entries[0], parks: 1), delay: .zero, reason: "slow")
            ]
            let zero = try await log.commit(try await log.take(0), outcome)
            #expect(try await log.hasPassed(1))
            #expect(try await log.hasPassed(2) == false)
            // A change that only has to be counted must be finished first.
            outcome = PartitionOutcome(position: 2)
            outcome.parked = [
                ParkedChange(LoggedChange(n: 2, entry: entries[1], parks: 1), delay: .zero, reason: "slow")
            ]
            let one = try await log.commit(try await log.take(1), outcome)
            #expect(try await log.hasPassed(2) == false)
            outcome = PartitionOutcome(position: 2)
            outcome.unparked = [id(1)]
            _ = try await log.commit(one, outcome)
            #expect(try await log.hasPassed(2))
            #expect(try await log.hasPassed(3) == false)
            _ = try await log.commit(zero, PartitionOutcome(position: 3))
            #expect(try await log.hasPassed(3))
            #expect(try await log.answered() == nil)
        },
        WorkLogConformance("the answered sequence follows the oldest change") { bed in
            let log = try await bed.member("a")
            #expect(try await log.answered()?.sequence == nil)
            for partition in [0, 1, 0] { try await log.fill([id(partition)]) }
            #expect(try await log.answered()?.sequence == nil)
            let zero = try await log.take(0)
            let later = try await log.commit(zero, PartitionOutcome(position: 1))
            #expect(try await log.answered()?.sequence == "1")
            _ = try await log.commit(later, PartitionOutcome(position: 3))
            #expect(try await log.answered()?.sequence == "1")
            var outcome = PartitionOutcome(position: 2)
            outcome.parked = [
                ParkedChange(LoggedChange(n: 2, entry: entry(2, id(1)), parks: 1), delay: .seconds(60), reason: "slow")
            ]
            let one = try await log.commit(try await log.take(1), outcome)
            #expect(try await log.answered()?.sequence == "1")
            outcome = PartitionOutcome(position: 2)
            outcome.unparked = [id(1)]
            _ = try await log.commit(one, outcome)
            #expect(try await log.answered()?.sequence == "3")
            #expect(try await log.answered()?.sequence == "3")
        },
    ]
}
