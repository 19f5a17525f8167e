import Locking
import Testing

@Suite struct TaskLockTests {
    private struct Oops: Error {}

    @Test func onlyOneTaskHoldsTheLock() async {
        let (lock, inside, most) = (TaskLock(), Locked(0), Locked(0))
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    await lock.withLock {
                        let now = inside.withLock { count in
                            count += 1
                            return count
                        }
                        most.withLock { $0 = max($0, now) }
                        await Task.yield()
                        inside.withLock { $0 -= 1 }
                    }
                }
            }
        }
        #expect(most.withLock { $0 } == 1)
    }

    @Test func errorReleasesTheLock() async {
        let lock = TaskLock()
        await #expect(throws: Oops.self) { try await lock.withLock { () async throws(Oops) in throw Oops() } }
        #expect(await lock.withLock { true })
    }
}
