import GatewayClient
import Testing

@testable import BotState
@testable import Bots

/// When a bot must start again because of orders about rules.
@Suite struct TakenOrdersTests {
    private func paused(_ name: String, _ order: Int) -> PausedRule { rule(name, order, resumedAt: nil) }
    private func resumed(_ name: String, _ order: Int) -> PausedRule { rule(name, order, resumedAt: 9) }

    private func rule(_ name: String, _ order: Int, resumedAt: Int?) -> PausedRule {
        PausedRule(
            name: name, since: nil, pausedAt: 5, resumedAt: resumedAt, order: order, lastWrite: 6)
    }

    @Test func newOrdersAreTakenUp() {
        let none = TakenOrders()
        #expect(!none.isOutdated(by: []))
        #expect(none.isOutdated(by: [paused("a", 1)]) && none.isOutdated(by: [resumed("a", 1)]))
        let taken = TakenOrders([paused("a", 1), resumed("b", 2)])
        #expect(!taken.isOutdated(by: [paused("a", 1), resumed("b", 2)]))
        // The same rule was paused again, or has made up for its changes.
        #expect(!taken.isOutdated(by: [paused("a", 3)]))
        #expect(taken.isOutdated(by: [paused("a", 1), paused("b", 4)]))
        #expect(taken.isOutdated(by: [resumed("a", 4), resumed("b", 2)]))
        #expect(taken.isOutdated(by: [resumed("b", 2)]))
        // It was paused and resumed meanwhile.
        #expect(taken.isOutdated(by: [paused("a", 1), resumed("b", 6)]))
        #expect(taken.contains(paused("a", 7)) && !taken.contains(resumed("a", 7)))
        #expect(taken.contains(resumed("b", 2)) && !taken.contains(resumed("b", 3)))
    }
}
