import Testing

@testable import Pipeline

@Suite(.timeLimit(.minutes(5))) struct TurnsTests {
    /// Counts how many have each thing, and the most that ever did.
    private actor Usage {
        private var now: [Int: Int] = [:]
        private(set) var most = 0

        func begin(_ things: Set<Int>) {
            for thing in things { now[thing, default: 0] += 1 }
            most = max(most, now.values.max() ?? 0)
        }

        func end(_ things: Set<Int>) { for thing in things { now[thing, default: 0] -= 1 } }
    }

    @Test func nothingIsEverHadByTwo() async {
        let (turns, usage) = (Turns<Int>(), Usage())
        await withTaskGroup { group in
            for task in 0..<200 {
                group.addTask {
                    let things: Set = [task % 3, task % 5 + 10, task % 7 + 20]
                    await turns.take(things)
                    await usage.begin(things)
                    await Task.yield()
                    await usage.end(things)
                    await turns.giveBack(things)
                }
            }
        }
        #expect(await usage.most == 1)
    }

    @Test func whatIsFreeIsHadAtOnce() async {
        let turns = Turns<Int>()
        await turns.take([1, 2])
        await turns.take([3])
        await turns.giveBack([1, 2])
        await turns.take([2])
    }

    @Test func whoComesFirstIsServedFirst() async {
        let turns = Turns<Int>()
        await turns.take([1])
        let (order, add) = AsyncStream<Int>.makeStream()
        await withTaskGroup { group in
            group.addTask {
                await turns.take([1, 2])
                add.yield(1)
                await turns.giveBack([1, 2])
            }
            // It could have 2, but the one before it is waiting for that.
            while await turns.waitingCount < 1 { await Task.yield() }
            group.addTask {
                await turns.take([2])
                add.yield(2)
                await turns.giveBack([2])
            }
            while await turns.waitingCount < 2 { await Task.yield() }
            await turns.giveBack([1])
        }
        add.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == [1, 2])
    }
}
