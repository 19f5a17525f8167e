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

    @Test func processesThatGiveWayDoNotCount() {
        var load = ProcessorLoad()
        _ = load.idleShare(Self.stat(user: 1000, idle: 5000))
        #expect(load.idleShare(Self.stat(user: 1075, idle: 5025), yielded: 50) == 0.75)
        // The two counts are not of the same moment.
        #expect(load.idleShare(Self.stat(user: 1085, idle: 5115), yielded: 15) == 1)
    }

    private static func process(_ pid: Int, ticks: Int, nice: Int = 0, policy: Int = 0) -> String {
        "\(pid) (swift (a) b) R 1 1 1 0 -1 4194304 1 0 0 0 \(ticks - 3) 3 0 0 20 \(nice) 9 0 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 "
            + "\(policy) 0 0 0 0 0\n"
    }

    @Test func processesOfLowPriorityGiveWay() throws {
        var load = LowPriorityLoad()
        func ticks(_ stats: String...) throws -> Int {
            load.ticks(try stats.map { try #require(LowPriorityLoad.Process($0)) })
        }
        #expect(try ticks(Self.process(1, ticks: 70, policy: 5), Self.process(2, ticks: 50)) == 0)
        // Process 3 is new, and process 4 has a higher priority than others.
        #expect(
            try ticks(
                Self.process(1, ticks: 80, policy: 5), Self.process(2, ticks: 90), Self.process(3, ticks: 7, nice: 19),
                Self.process(4, ticks: 9, nice: -5)) == 17)
        // Another process has the number of one that has ended.
        #expect(try ticks(Self.process(1, ticks: 4, policy: 5)) == 0)
    }

    @Test(arguments: ["", "1", "1 (a) R", "cpu  1 2 3 4 5 6 7 8"])
    func otherTextIsNoProcess(text: String) { #expect(LowPriorityLoad.Process(text) == nil) }

    @Test(arguments: ["", "cpu", "cpu  1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"])
    func otherTextHasNoIdleShare(text: String) {
        var load = ProcessorLoad()
        #expect(load.idleShare(text) == nil && load.idleShare(text) == nil)
    }

    @Test func slotsFollowLoad() {
        var count = SlotCount(processors: 2)
        #expect(count.value == 10)
        // Neither idle nor busy.
        count.adapt(toIdleShare: 0.03, memory: 0)
        #expect(count.value == 10)
        count.adapt(toIdleShare: 0.08, memory: 0)
        #expect(count.value == 11)
        count.adapt(toIdleShare: 0.5, memory: 0)
        #expect(count.value == 13)
        for _ in 0..<20 { count.adapt(toIdleShare: 0.5, memory: 0) }
        #expect(count.value == 28)
        for _ in 0..<30 { count.adapt(toIdleShare: 0, memory: 0) }
        #expect(count.value == 4)
    }

    @Test func largeProcessGetsFewerSlots() {
        var count = SlotCount(processors: 2)
        count.adapt(toIdleShare: 0.5, memory: SlotCount.maxMemory)
        #expect(count.value == 12)
        for expected in [10, 8, 6, 4, 4] {
            count.adapt(toIdleShare: 0.5, memory: SlotCount.maxMemory + 1)
            #expect(count.value == expected)
        }
    }
}
