import Foundation
import Testing

@testable import changebot

@Suite struct RunningBotTests {
    /// A bot that only waits for changes writes its status once a minute.
    @Test func agesGoOnAfterTheStatusWasWritten() async throws {
        try await Program.withDirectory { folder in
            let status = """
                {"written_at":"2020-01-01T00:00:00Z","process":1,"bot":{"phase":"following",\
                "gateway":{"url":"http://127.0.0.1/a","outage":{"seconds":5,"reason":"refused","next_attempt_in":9}},\
                "sequence":{"lag":0,"lag_seconds":0,"checkpoint_age_seconds":3}}}
                """
            try Data(status.utf8).write(to: URL(fileURLWithPath: "\(folder)/b.status.\(getpid()).json"))
            let bot = try #require(RunningBot.all(in: folder).first)
            #expect(try #require(bot.number("sequence", "checkpoint_age_seconds")) > 1_000_000)
            #expect(try #require(bot.number("gateway", "outage", "seconds")) > 1_000_000)
            #expect(bot.number("gateway", "outage", "next_attempt_in") == 0)
            #expect(bot.number("sequence", "lag_seconds") == 0)
        }
    }
}
