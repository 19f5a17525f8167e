import GatewayClient
import Testing

@testable import BotState
@testable import Bots

@Suite struct DispatchedTimersTests {
    private let start = ContinuousClock.Instant.now

    private func timer(_ id: String, _ due: Int) -> WaitingTimer { WaitingTimer(id: .init(id), rule: "r", due: due) }

    @Test func timersAreDispatchedOnceAndThenOnlyNewOnesAreRead() {
        var dispatched = DispatchedTimers()
        dispatched.begin(now: 1000, start)
        #expect(dispatched.start == nil)
        let first = [timer("a", 500), timer("b", 995)]
        #expect(dispatched.new(among: first) == first)
        dispatched.note(first)
        dispatched.end()
        dispatched.begin(now: 1001, start + .seconds(1))
        #expect(dispatched.start == 990)
        #expect(dispatched.new(among: [timer("b", 995), timer("c", 996)]) == [timer("c", 996)])
    }

    @Test func allTimersAreReadAgainAfterAMinuteOrLaterIfManyWait() {
        for (count, seconds) in [(10, 60), (100_000, 1000)] {
            var dispatched = DispatchedTimers()
            dispatched.begin(now: 1000, start)
            dispatched.note((0..<count).map { timer("a\($0)", 500) })
            dispatched.end()
            dispatched.begin(now: 1000 + seconds - 1, start + .seconds(seconds - 1))
            #expect(dispatched.start == 990)
            dispatched.end()
            dispatched.begin(now: 1000 + seconds, start + .seconds(seconds))
            #expect(dispatched.start == nil)
            #expect(dispatched.new(among: [timer("a0", 500)]).count == 1)
        }
    }

    @Test func incompleteReadIsRepeated() {
        var dispatched = DispatchedTimers()
        dispatched.begin(now: 1000, start)
        dispatched.note([timer("a", 995)])
        dispatched.begin(now: 1001, start + .seconds(1))
        #expect(dispatched.start == nil)
        #expect(dispatched.new(among: [timer("a", 995)]).isEmpty)
    }

    @Test func clockSetBackHidesNoTimer() {
        var dispatched = DispatchedTimers()
        dispatched.begin(now: 5000, start)
        dispatched.end()
        dispatched.begin(now: 1000, start + .seconds(1))
        #expect(dispatched.start == 990)
    }
}
