import GatewayClient
import Locking
import Logging
import Rules
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

@Suite struct TimerTaskTests {
    private struct TestEnqueuer: CandidateEnqueuer {
        let isDurable: Bool
        let enqueued = Locked<[DocumentID]>([])

        func room() async throws -> Bool { true }

        func enqueue(_ candidates: [Candidate]) async throws -> Int {
            enqueued.withLock { $0 += candidates.map(\.id) }
            return candidates.count
        }

        func waitUntilSettled() async throws -> Bool { true }
    }

    /// The process's own queue knows which documents are under way; a log does not.
    @Test(arguments: [false, true]) func onlyTimersDispatchedToALogAreRemembered(isDurable: Bool) async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            var settings = Delivery.Settings()
            settings.now = { 100 }
            let timers = try await DocumentTimers(ledger, rules: ["late"])
            var task = TimerTask(timers, ["late"], settings, Logger(label: "timers"))
            let enqueuer = TestEnqueuer(isDurable: isDurable)
            for number in 0..<3 {
                let id = DocumentID("d\(number)")
                try await ledger.setTimes([
                    TimedDocument(id: id, times: [RuleTime(rule: "late", due: 95 + number, hasFired: false)])
                ])
                #expect(try await task.runOnce(.readingFeed, enqueuer).hasEnqueued)
                try await ledger.setTimes([
                    TimedDocument(id: id, times: [RuleTime(rule: "late", due: 95 + number, hasFired: true)])
                ])
            }
            #expect(enqueuer.enqueued.withLock { $0 } == ["d0", "d1", "d2"])
            #expect((task.dispatched != nil) == isDurable)
        }
    }

    @Test func queueForgetsSettledDocuments() async throws {
        let flow = CandidateFlow(
            queue: CandidateQueue(), budget: MemoryBudget(MemoryPool(bytes: 1 << 20), documents: 10))
        let enqueuer = QueueEnqueuer(flow, woken: Signal(), documentsAtOnce: 1)
        for _ in 0..<3 {
            #expect(try await enqueuer.enqueue([Candidate(ofTimer: "d")]) == 1)
            #expect(try await !enqueuer.room())
            let taken = await flow.queue.take(limit: 5, byteLimit: .max)
            for candidate in taken { candidate.acknowledgements.notify(.finished) }
            await flow.queue.release(taken)
            #expect(try await enqueuer.waitUntilSettled())
            #expect(try await enqueuer.room())
        }
    }
}
