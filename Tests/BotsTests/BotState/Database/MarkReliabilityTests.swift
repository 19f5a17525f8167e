import GatewayClient
import Logging
import Testing

@testable import BotState

/// When a run continues without the database's mark.
@Suite struct MarkReliabilityTests {
    private static let start = ContinuousClock.now

    /// Regression: a mark that vanished a while after each write made a bot read everything once a minute.
    @Test func markAloneShowsOneReset() {
        #expect(!MarkReliability().isCredibleReset(.none, at: Self.start))
        let trust = MarkReliability()
        #expect(trust.isCredibleReset(.progress, at: Self.start))
        #expect(!trust.isCredibleReset(.none, at: Self.start + .seconds(60)))
        #expect(!trust.isCredibleReset(.progress, at: Self.start + .seconds(60)))
        #expect(trust.isCredibleReset(.otherDatabase, at: Self.start + .seconds(60)))
        #expect(trust.isCredibleReset(.progress, at: Self.start + .seconds(700)))
    }

    @Test func manyResetsAreNotBelieved() {
        let trust = MarkReliability()
        for time in 0..<5 { #expect(trust.isCredibleReset(.otherDatabase, at: Self.start + .seconds(time))) }
        #expect(!trust.isCredibleReset(.otherDatabase, at: Self.start + .seconds(10)))
        #expect(trust.isCredibleReset(.otherDatabase, at: Self.start + .seconds(700)))
    }

    @Test func fiveConsecutiveFailuresAbandonTheMark() {
        let trust = MarkReliability()
        for _ in 1...2 {
            for _ in 1...4 { #expect(!trust.noteFailure()) }
            trust.noteAnswer(.read)
        }
        for _ in 1...4 { #expect(!trust.noteFailure()) }
        #expect(trust.noteFailure())
        // Each write follows a successful read.
        for _ in 1...4 {
            trust.noteAnswer(.read)
            trust.noteSending(.write)
            #expect(!trust.noteFailure())
        }
        trust.noteAnswer(.read)
        trust.noteSending(.write)
        #expect(trust.noteFailure())
    }

    @Test func abandonedMarkIsNotRead() throws {
        let lines = LoggedLines()
        let trust = MarkReliability(logger: lines.logger)
        let url = try GatewayURL("http://127.0.0.1:1/todo")
        try trust.check(url)
        for _ in 1...3 { trust.giveUp("it is read as missing") }
        let error = #expect(throws: GatewayError.self) { try trust.check(url) }
        #expect(error?.code == .notOffered)
        #expect(error.map(MarkDocument.isRefusal) == true)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.level == .warning)
    }
}
