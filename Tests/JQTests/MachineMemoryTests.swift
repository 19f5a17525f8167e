import Testing

@testable import JQ

@Suite
struct MachineMemoryTests {
    @Test
    func filesOfAllEnclosingGroupsAreRead() {
        #expect(
            MachineMemory.groupFiles("0::/system.slice/changebot.service\n") == [
                "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/system.slice/changebot.service/memory.max",
            ])
        #expect(
            MachineMemory.groupFiles("9:cpu,memory:/docker\n3:pids:/docker\n") == [
                "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            ])
        #expect(MachineMemory.groupFiles("nonsense") == [])
    }

    @Test(arguments: [("max\n", nil), ("536870912\n", 536_870_912), ("", nil)])
    func unlimitedGroupHasNoLimit(text: String, limit: Int?) {
        #expect(MachineMemory.bytes(text) == limit)
    }

    @Test
    func programThatNeedsGigabytesFails() async throws {
        let programs = [
            "[range(1e9)]", "\"a\" * 1e9", "def f: [., .] | f; f", "[limit(1e9; repeat(.))] | length", ".+1",
        ]
        let pool = pool(programs) { $0.memoryLimit = 32 << 20 }
        let outcomes = await pool.run([
            try call(0, "1"), try call(1, "1"), try call(2, "1"), try call(3, "1"), try call(4, "1"),
        ])
        #expect(outcomes.prefix(4).allSatisfy { $0.error != nil })
        #expect(outcomes.last?.texts == ["2"])
    }
}
