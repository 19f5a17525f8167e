import DocumentFlow
import Locking
import Testing

@Suite struct ReceiverOutagesTests {
    private typealias Receiver = ReceiverOutages.Receiver

    private let start = ContinuousClock.now
    private let outages = ReceiverOutages()

    private func status(from seconds: Int, due: Int, waiting: Int, _ reason: String = "x") -> ReceiverOutages.Status {
        ReceiverOutages.Status(
            began: start + .seconds(seconds), reason: reason, nextAttempt: start + .seconds(due), waiting: waiting)
    }

    @Test func receiversAreOrderedAndCombined() {
        let (run, pass) = (outages.makeReporter(nil), outages.makeReporter(nil))
        run.note(Receiver(.webhooks, "http://b"), status(from: 5, due: 9, waiting: 2, "old"))
        run.note(Receiver(.downloads, "http://b"), status(from: 1, due: 2, waiting: 1))
        run.note(Receiver(.webhooks, "http://a"), status(from: 0, due: 2, waiting: 7))
        pass.note(Receiver(.webhooks, "http://b"), status(from: 3, due: 10, waiting: 4, "new"))
        let found = outages.status
        #expect(
            found.map(\.receiver)
                == [Receiver(.downloads, "http://b"), Receiver(.webhooks, "http://a"), Receiver(.webhooks, "http://b")])
        #expect(found.last?.status == status(from: 3, due: 10, waiting: 6, "new"))
        // The reports of an ended pass are removed.
        pass.end()
        #expect(outages.status.last?.status == status(from: 5, due: 9, waiting: 2, "old"))
        run.note(Receiver(.webhooks, "http://b"), nil)
        #expect(outages.status.count == 2)
    }

    private final class Counter: RunObserver {
        let events = Locked(0)
        let needsDocuments = false
        let maxReportedWrites = 0
        func note(_ event: RunEvent) { events.withLock { $0 += 1 } }
    }

    @Test func observerIsNotifiedOnlyOfBeginningAndEnd() {
        let counter = Counter()
        let reporter = outages.makeReporter(counter)
        for waiting in 1...3 {
            reporter.note(Receiver(.webhooks, "http://a"), status(from: 0, due: 1, waiting: waiting))
        }
        #expect(counter.events.withLock { $0 } == 1)
        for _ in 0..<2 { reporter.note(Receiver(.webhooks, "http://a"), nil) }
        #expect(counter.events.withLock { $0 } == 2)
    }
}
