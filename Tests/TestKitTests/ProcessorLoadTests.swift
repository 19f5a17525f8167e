import TestKit
import Testing

@Suite struct ProcessorLoadTests {
    private static func stat(user: Int, idle: Int, waiting: Int = 0) -> String {
        "cpu  \(user) 0 100 \(idle) \(waiting) 0 7 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\nintr 5\n"
    }

    @Test func idleShareCoversTimeSinceLastCall() {
        var load = ProcessorLoad()
        #expect(load.idleShare(Self.stat(user: 1000, idle: 5000)) == nil)
        #expect(load.idleShare(Self.stat(user: 1075, idle: 5025)) == 0.25)
        #expect(load.idleShare(Self.stat(user: 1075, idle: 5025)) == nil)
        // A processor that waits for a disk is idle.
        #expect(load.idleShare(Self.stat(user: 1075, idle: 5065, waiting: 60)) == 1)
        #expect(load.idleShare(Self.stat(user: 1175, idle: 5065, waiting: 60)) == 0)
    }

    @Test(arguments: ["", "cpu", "cpu  1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"])
    func otherTextHasNoIdleShare(text: String) {
        var load = ProcessorLoad()
        #expect(load.idleShare(text) == nil && load.idleShare(text) == nil)
    }

    @Test func slotsFollowLoad() {
        var count = SlotCount(processors: 2)
        #expect(count.value == 10)
        // Neither idle nor busy.
        count.adapt(toIdleShare: 0.03)
        #expect(count.value == 10)
        count.adapt(toIdleShare: 0.08)
        #expect(count.value == 11)
        count.adapt(toIdleShare: 0.5)
        #expect(count.value == 13)
        for _ in 0..<20 { count.adapt(toIdleShare: 0.5) }
        #expect(count.value == 28)
        for _ in 0..<30 { count.adapt(toIdleShare: 0) }
        #expect(count.value == 4)
    }
}
