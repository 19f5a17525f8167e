import TestKit
import Testing

/// Suites that share the keyspace of a real server do not disturb each other.
@Suite(.limitedParallelism) struct SharedKeyspaceTests {
    private actor Usage {
        private var together = 0
        private var alone = 0
        private(set) var isMixed = false
        private(set) var maxConcurrent = 0

        func begin(alone isAlone: Bool) {
            if isAlone { alone += 1 } else { together += 1 }
            maxConcurrent = max(maxConcurrent, together)
            isMixed = isMixed || alone > 1 || alone > 0 && together > 0
        }

        func end(alone isAlone: Bool) { if isAlone { alone -= 1 } else { together -= 1 } }
    }

    @Test func exclusiveUseExcludesOthers() async {
        let (keyspace, usage) = (SharedKeyspace(), Usage())
        await withTaskGroup { group in
            for task in 0..<200 {
                group.addTask {
                    let isAlone = task % 5 == 0
                    let body = {
                        await usage.begin(alone: isAlone)
                        for _ in 0..<5 { await Task.yield() }
                        await usage.end(alone: isAlone)
                    }
                    if isAlone { await keyspace.alone(body) } else { await keyspace.together(body) }
                }
            }
        }
        #expect(await !usage.isMixed)
        #expect(await usage.maxConcurrent > 1)
    }

    /// Shared users wait for an exclusive one that came earlier.
    @Test func waitersAreServedInOrder() async {
        let (keyspace, order) = (SharedKeyspace(), OrderOfUses())
        await withTaskGroup { group in
            await keyspace.together {
                group.addTask { await keyspace.alone { await order.note("alone") } }
                while await keyspace.waitingCount < 1 { await Task.yield() }
                group.addTask { await keyspace.together { await order.note("together") } }
                while await keyspace.waitingCount < 2 { await Task.yield() }
            }
        }
        #expect(await order.names == ["alone", "together"])
    }

    /// Regression: tests that waited for the one keyspace of a server reached their limit of five minutes.
    @Test func waitingDoesNotCountTowardsTimeLimit() async {
        let (keyspace, time) = (SharedKeyspace(), TestTime())
        await TestTime.$current.withValue(time) {
            await withTaskGroup { group in
                await keyspace.alone {
                    #expect(!time.isWaiting)
                    group.addTask { await keyspace.together { #expect(!time.isWaiting) } }
                    while await keyspace.waitingCount < 1 { await Task.yield() }
                    #expect(time.isWaiting)
                }
            }
        }
        #expect(!time.isWaiting)
    }

    private actor OrderOfUses {
        private(set) var names: [String] = []

        func note(_ name: String) { names.append(name) }
    }
}
