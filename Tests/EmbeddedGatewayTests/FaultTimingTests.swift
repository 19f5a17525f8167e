import Testing

@testable import EmbeddedGateway

@Suite struct FaultTimingTests {
    /// The numbers of the requests, from 1 and one per second, that a fault applies to.
    private func done(_ timing: FaultTiming, of count: Int, draws: [Double] = []) -> [Int] {
        var progress = FaultProgress()
        return (1...count).filter { number in
            let draw = draws.isEmpty ? 0.5 : draws[number - 1]
            return progress.countRequest(timing, elapsed: .seconds(number), draw: draw)
        }
    }

    @Test(arguments: [
        (FaultTiming(), [1, 2, 3, 4, 5, 6, 7, 8]),
        (FaultTiming(times: 2), [1, 2]),
        (FaultTiming(after: .requests(3)), [4, 5, 6, 7, 8]),
        (FaultTiming(after: .requests(3), duration: .requests(2)), [4, 5]),
        (FaultTiming(after: .requests(3), duration: .time(.seconds(3))), [4, 5, 6]),
        (FaultTiming(after: .time(.seconds(3))), [3, 4, 5, 6, 7, 8]),
        (FaultTiming(after: .time(.milliseconds(3_500)), duration: .time(.seconds(2))), [4, 5]),
        (FaultTiming(after: .time(.seconds(3)), duration: .requests(2)), [3, 4]),
        (FaultTiming(duration: .requests(2)), [1, 2]),
        (FaultTiming(duration: .time(.seconds(3))), [1, 2]),
        (FaultTiming(frequency: .every(3)), [3, 6]),
        (FaultTiming(after: .requests(1), frequency: .every(3)), [4, 7]),
        (FaultTiming(after: .requests(1), frequency: .every(2), times: 2), [3, 5]),
        (FaultTiming(frequency: .share(0.5)), []),
        (FaultTiming(frequency: .share(0.51)), [1, 2, 3, 4, 5, 6, 7, 8]),
    ])
    func faultFollowsItsTiming(timing: FaultTiming, expected: [Int]) {
        #expect(done(timing, of: 8) == expected)
    }

    @Test func shareIsRandom() {
        #expect(done(FaultTiming(frequency: .share(0.3)), of: 4, draws: [0.1, 0.3, 0.29, 0.9]) == [1, 3])
        #expect(done(FaultTiming(frequency: .share(0)), of: 1, draws: [0]) == [])
    }

    @Test func sameSeedGivesTheSameNumbers() {
        func shares(_ seed: UInt64, fault: Int = 0) -> [Double] {
            (0..<1_000).map { request in
                var numbers = SeededNumbers(seed: seed, fault: fault, request: request)
                return numbers.share()
            }
        }
        #expect(shares(1) == shares(1))
        #expect(shares(1) != shares(2))
        #expect(shares(1) != shares(1, fault: 1))
        #expect(shares(1).allSatisfy { (0..<1).contains($0) })
        let low = shares(7).count { $0 < 0.25 }
        #expect((200...300).contains(low))
    }

    @Test func numbersStayInRange() {
        var numbers = SeededNumbers(seed: 0, fault: 0, request: 0)
        let results = Set((0..<200).map { _ in numbers.number(in: 3...6) })
        #expect(results == [3, 4, 5, 6])
        #expect(numbers.number(in: FaultPlan.maxNumber...FaultPlan.maxNumber) == FaultPlan.maxNumber)
        var list = Array(0..<50)
        numbers.shuffle(&list)
        #expect(list != Array(0..<50) && list.sorted() == Array(0..<50))
    }

    @Test(arguments: [
        (["todo"], RequestKind.database), (["todo", ""], .database), (["todo", "_session"], .session),
        (["todo", "_changes"], .changes), (["todo", "_local", "a"], .local), (["todo", "a"], .document),
        (["todo", "_unknown"], .document), (["todo", "a", "image"], .attachment),
        (["todo", "a", "b", "c"], .attachment),
    ])
    func pathDeterminesTheKindOfRequest(path: [String], kind: RequestKind) {
        #expect(RequestKind(path) == kind)
    }
}
