import GatewayClient
import Locking
import Logging
import Rules
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

@Suite struct TimerDutyTests {
    private struct TestBringer: Bringer {
        let isDurable: Bool
        let brought = Locked<[DocumentID]>([])

        func room() async throws -> Bool { true }

        func bring(_ candidates: [Candidate]) async throws -> Int {
            brought.withLock { $0 += candidates.map(\.id) }
            return candidates.count
        }

        func untilSettled() async throws -> Bool { true }
    }

    /// The queue of the process knows what is under way. Only a log does not.
    @Test(arguments: [false, true]) func onlyWhatALogWasGivenIsRemembered(isDurable: Bool) async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            var settings = Delivery.Settings()
            settings.now = { 100 }
            let timers = try await DocumentTimers(ledger, rules: ["late"])
            var duty = TimerDuty(timers, ["late"], settings, Logger(label: "timers"))
            let bringer = TestBringer(isDurable: isDurable)
            for number in 0..<3 {
                let id = DocumentID("d\(number)")
                try await ledger.setTimes([
                    TimedDocument(id: id, times: [RuleTime(rule: "late", due: 95 + number, hasFired: false)])
                ])
                #expect(try await duty.look(.besideFeed, bringer).hasBrought)
                try await ledger.setTimes([
                    TimedDocument(id: id, times: [RuleTime(rule: "late", due: 95 + number, hasFired: true)])
                ])
            }
            #expect(bringer.brought.withLock { $0 } == ["d0", "d1", "d2"])
            #expect((duty.brought != nil) == isDurable)
        }
    }

    @Test func queueForgetsWhatWasBroughtOnceItIsSettled() async throws {
        let flow = CandidateFlow(
            queue: CandidateQueue(), budget: MemoryBudget(MemoryPool(bytes: 1 << 20), documents: 10))
        let bringer = QueueBringer(flow, woken: Signal(), documentsAtOnce: 1)
        for _ in 0..<3 {
            #expect(try await bringer.bring([Candidate(ofTimer: "d")]) == 1)
            #expect(try await !bringer.room())
            let taken = await flow.queue.take(limit: 5, byteLimit: .max)
            for candidate in taken { candidate.receipts.tell(.finished) }
            await flow.queue.release(taken)
            #expect(try await bringer.untilSettled())
            #expect(try await bringer.room())
        }
    }
}
