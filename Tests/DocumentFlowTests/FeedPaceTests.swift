import Testing

@testable import DocumentFlow
@testable import GatewayClient

@Suite struct FeedPaceTests {
    /// One answer: its rows as `(seq, id, rev)` and its last sequence.
    private func read(
        _ pace: inout FeedPace, _ rows: [(seq: Int, id: String, rev: String)], last: Int
    ) throws -> Duration? {
        if !rows.isEmpty {
            let texts = rows.map { #"{"seq":\#($0.seq),"id":"\#($0.id)","changes":[{"rev":"\#($0.rev)"}]}"# }
            var parser = ChangesParser()
            parser.append(Array("{\"results\":[\(texts.joined(separator: ","))],\"last_seq\":\(last)}".utf8))
            let batch = try #require(try parser.nextBatch())
            pace.add(batch[...])
        }
        pace.endAnswer(at: sequence(last))
        return pace.pause
    }

    @Test func busyHealthyFeedIsNotSlowedDown() throws {
        var pace = FeedPace(start: .start)
        for number in 1...10_000 {
            // The same few documents change repeatedly, with occasional empty answers.
            let row = (seq: number, id: "d\(number % 3)", rev: "\(number)-a")
            #expect(try read(&pace, [row], last: number) == nil)
            if number.isMultiple(of: 5) { #expect(try read(&pace, [], last: number) == nil) }
        }
    }

    /// Users have no revision in the feed, so their changes differ only in the sequence.
    @Test func rowsWithoutARevisionAreIdentifiedBySequence() throws {
        var pace = FeedPace(start: .start)
        for number in 1...50 {
            var parser = ChangesParser()
            parser.append(
                Array(#"{"results":[{"seq":\#(number),"id":"_user/amy","changes":[]}],"last_seq":\#(number)}"#.utf8))
            pace.add(try #require(try parser.nextBatch())[...])
            pace.endAnswer(at: sequence(number))
            #expect(pace.pause == nil)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 500])
    func repeatingSequencesAreSlowedDown(cycle: Int) throws {
        var pace = FeedPace(start: .start)
        var logged = 0
        for step in 0..<(cycle + 20) {
            let number = step % cycle + 1
            // New revisions at old sequences.
            let pause = try read(&pace, [(seq: number, id: "a", rev: "\(step)-a")], last: number)
            #expect((pause != nil) == (step >= cycle))
            if pace.shouldLog { logged += 1 }
        }
        #expect(logged == 1)
        #expect(pace.pause == .seconds(5))
        #expect(pace.hasStalledTooLong)
    }

    /// Rows that repeat under ever new sequences.
    @Test(arguments: [1, 2, 40])
    func repeatingChangesAreSlowedDown(answers: Int) throws {
        var pace = FeedPace(start: .start)
        for step in 0..<(answers + 10) {
            let rows = (0..<5).map { (seq: step * 5 + $0, id: "d\(step % answers)-\($0)", rev: "1-a") }
            let pause = try read(&pace, rows, last: step * 5 + 5)
            #expect((pause != nil) == (step >= answers))
        }
        // A new change.
        #expect(try read(&pace, [(seq: 100_000, id: "new", rev: "1-a")], last: 100_000) == nil)
        #expect(pace.answersWithoutProgress == 0)
    }

    @Test func pausesGrowToSeveralSeconds() throws {
        var pace = FeedPace(start: .start)
        var pauses: [Duration] = []
        for _ in 0..<9 {
            if let pause = try read(&pace, [(seq: 1, id: "a", rev: "1-a")], last: 1) { pauses.append(pause) }
        }
        #expect(pauses == [0.5, 0.5, 1, 2, 4, 5, 5, 5].map { .seconds($0) })
    }

    @Test func memoryIsBounded() {
        var numbers = RecentNumbers()
        let areNew = (0..<5000).map { numbers.insert($0) }
        #expect(!areNew.contains(false))
        let (oldest, newest) = (numbers.insert(0), numbers.insert(4999))
        #expect(oldest && !newest)
    }
}
