import Testing

@testable import HTTPTransport

/// When a transfer rests between two reads of its socket.
@Suite struct ReadPacingTests {
    private static let wanted = ReadPacing.wantedBytes

    @Test(arguments: [
        // The first piece is delivered before the rest, which grows while pieces keep arriving.
        ([100, 100, 100, 100, 100, 100], [1, 2, 4, 8, 10, 10]),
        // After a rest without data, the next piece starts over.
        ([100, 100, 100, 0, 100, 100], [1, 2, 4, nil, 1, 2]),
        // The rest lasts as long as the wanted bytes take to arrive.
        ([100, 100, 100, wanted, wanted, wanted * 2, wanted, wanted / 2], [1, 2, 4, 4, 4, 2, 2, 4]),
        // After a large read, reading continues immediately.
        ([wanted, wanted, 1 << 20], [nil, nil, nil]), ([100, wanted * 2, 100], [1, nil, 1]),
        ([wanted - 1], [1]), ([0, 0], [nil, nil]),
    ])
    func restsUntilEnoughHasArrived(bytes: [Int], milliseconds: [Int?]) {
        var pacing = ReadPacing(longestRests: .milliseconds(10) ... .milliseconds(100))
        let rests = bytes.map { pacing.rest(after: $0) }
        #expect(rests == milliseconds.map { $0.map { Duration.milliseconds($0) } })
    }

    @Test func slowLongAnswerRestsLonger() {
        var pacing = ReadPacing(longestRests: .milliseconds(10) ... .milliseconds(40))
        var rested: [Duration] = []
        for _ in 0..<150 { rested.append(pacing.rest(after: 100) ?? .zero) }
        let total = rested.prefix(100).reduce(.zero, +)
        #expect(rested[50] == .milliseconds(10) && rested[149] == .milliseconds(40))
        #expect(rested[100] == min(total / 50, .milliseconds(40)))
        // Starts over after a pause.
        #expect(pacing.rest(after: 0) == nil)
        #expect((0..<8).map { _ in pacing.rest(after: 100) }.last == .milliseconds(10))
    }

    @Test func restsNeverExceedRequestLimit() {
        var pacing = ReadPacing(longestRests: .microseconds(500) ... .microseconds(500))
        #expect(pacing.rest(after: 100) == .microseconds(500))
        #expect(pacing.rest(after: 100) == .microseconds(500))
    }
}
