import TestKit
import Testing

@testable import Delivery

@Suite(.limitedParallelism) struct KeyedLockTests {
    /// Counts the current holders of each key, and the maximum at any time.
    private actor Usage {
        private var now: [Int: Int] = [:]
        private(set) var most = 0

        func begin(_ keys: Set<Int>) {
            for key in keys { now[key, default: 0] += 1 }
            most = max(most, now.values.max() ?? 0)
        }

        func end(_ keys: Set<Int>) { for key in keys { now[key, default: 0] -= 1 } }
    }

    @Test func keyIsNeverHeldTwice() async {
        let (lock, usage) = (KeyedLock<Int>(), Usage())
        await withTaskGroup { group in
            for task in 0..<200 {
                group.addTask {
                    let keys: Set = [task % 3, task % 5 + 10, task % 7 + 20]
                    await lock.lock(keys)
                    await usage.begin(keys)
                    await Task.yield()
                    await usage.end(keys)
                    await lock.unlock(keys)
                }
            }
        }
        #expect(await usage.most == 1)
    }

    @Test func freeKeyIsLockedAtOnce() async {
        let lock = KeyedLock<Int>()
        await lock.lock([1, 2])
        await lock.lock([3])
        await lock.unlock([1, 2])
        await lock.lock([2])
    }

    @Test func waitersAreServedInOrder() async {
        let lock = KeyedLock<Int>()
        await lock.lock([1])
        let (order, add) = AsyncStream<Int>.makeStream()
        await withTaskGroup { group in
            group.addTask {
                await lock.lock([1, 2])
                add.yield(1)
                await lock.unlock([1, 2])
            }
            // Key 2 is free, but an earlier task is waiting for it.
            while await lock.waitingCount < 1 { await Task.yield() }
            group.addTask {
                await lock.lock([2])
                add.yield(2)
                await lock.unlock([2])
            }
            while await lock.waitingCount < 2 { await Task.yield() }
            await lock.unlock([1])
        }
        add.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == [1, 2])
    }
}

extension KeyedLock {
    fileprivate var waitingCount: Int { waiting.count }
}
