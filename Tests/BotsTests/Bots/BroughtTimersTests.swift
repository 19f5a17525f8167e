import GatewayClient
import Testing

@testable import BotState
@testable import Bots

@Suite struct BroughtTimersTests {
    private let start = ContinuousClock.Instant.now

    private func timer(_ id: String, _ due: Int) -> WaitingTimer { WaitingTimer(id: .init(id), rule: "r", due: due) }

    @Test func timersAreDispatchedOnceAndThenOnlyNewOnesAreRead() {
        var brought = BroughtTimers()
        brought.begin(now: 1000, start)
        #expect(brought.start == nil)
        let first = [timer("a", 500), timer("b", 995)]
        #expect(brought.new(among: first) == first)
        brought.note(first)
        brought.end()
        brought.begin(now: 1001, start + .seconds(1))
        #expect(brought.start == 990)
        #expect(brought.new(among: [timer("b", 995), timer("c", 996)]) == [timer("c", 996)])
    }

    @Test func allTimersAreReadAgainAfterAMinuteOrLaterIfManyWait() {
        for (count, seconds) in [(10, 60), (100_000, 1000)] {
            var brought = BroughtTimers()
            brought.begin(now: 1000, start)
            brought.note((0..<count).map { timer("a\($0)", 500) })
            brought.end()
            brought.begin(now: 1000 + seconds - 1, start + .seconds(seconds - 1))
            #expect(brought.start == 990)
            brought.end()
            brought.begin(now: 1000 + seconds, start + .seconds(seconds))
            #expect(brought.start == nil)
            #expect(brought.new(among: [timer("a0", 500)]).count == 1)
        }
    }

    @Test func incompleteReadIsRepeated() {
        var brought = BroughtTimers()
        brought.begin(now: 1000, start)
        brought.note([timer("a", 995)])
        brought.begin(now: 1001, start + .seconds(1))
        #expect(brought.start == nil)
        #expect(brought.new(among: [timer("a", 995)]).isEmpty)
    }

    @Test func clockSetBackHidesNoTimer() {
        var brought = BroughtTimers()
        brought.begin(now: 5000, start)
        brought.end()
        brought.begin(now: 1000, start + .seconds(1))
        #expect(brought.start == 990)
    }
}
