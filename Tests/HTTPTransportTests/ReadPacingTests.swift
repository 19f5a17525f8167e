import Testing

@testable import HTTPTransport

/// How long a transfer delays its reads.
@Suite struct ReadPacingTests {
    private static let wanted = ReadPacing.wantedBytes

    @Test(arguments: [
        // The first piece is delivered before the delay, which grows while pieces keep arriving.
        ([100, 100, 100, 100, 100, 100], [1, 2, 4, 8, 10, 10]),
        // After a delay without data, the next piece starts over.
        ([100, 100, 100, 0, 100, 100], [1, 2, 4, nil, 1, 2]),
        // The delay lasts as long as the wanted bytes take to arrive.
        ([100, 100, 100, wanted, wanted, wanted * 2, wanted, wanted / 2], [1, 2, 4, 4, 4, 2, 2, 4]),
        // After a large read, reading continues immediately.
        ([wanted, wanted, 1 << 20], [nil, nil, nil]), ([100, wanted * 2, 100], [1, nil, 1]),
        ([wanted - 1], [1]), ([0, 0], [nil, nil]),
    ])
    func readsAreDelayedUntilEnoughHasArrived(bytes: [Int], milliseconds: [Int?]) {
        var pacing = ReadPacing(maxDelays: .milliseconds(10) ... .milliseconds(100))
        let delays = bytes.map { pacing.delay(after: $0) }
        #expect(delays == milliseconds.map { $0.map { Duration.milliseconds($0) } })
    }

    @Test func slowLongAnswerHasLongerDelays() {
        var pacing = ReadPacing(maxDelays: .milliseconds(10) ... .milliseconds(40))
        var delays: [Duration] = []
        for _ in 0..<150 { delays.append(pacing.delay(after: 100) ?? .zero) }
        let total = delays.prefix(100).reduce(.zero, +)
        #expect(delays[50] == .milliseconds(10) && delays[149] == .milliseconds(40))
        #expect(delays[100] == min(total / 50, .milliseconds(40)))
        // Starts over after a pause.
        #expect(pacing.delay(after: 0) == nil)
        #expect((0..<8).map { _ in pacing.delay(after: 100) }.last == .milliseconds(10))
    }

    @Test func delaysNeverExceedRequestLimit() {
        var pacing = ReadPacing(maxDelays: .microseconds(500) ... .microseconds(500))
        #expect(pacing.delay(after: 100) == .microseconds(500))
        #expect(pacing.delay(after: 100) == .microseconds(500))
    }
}
