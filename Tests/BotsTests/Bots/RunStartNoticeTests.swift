import GatewayClient
import Logging
import Testing

@testable import Bots

/// What a run logs at its start: at which level, and with which command as advice.
@Suite struct RunStartNoticeTests {
    @Test(
        arguments: [
            (.sinceIgnored, .notice, "changebot checkpoint set SEQUENCE --state s", ["checkpoint": "5"]),
            (.channelsChanged, .warning, "changebot checkpoint reset --state s", [:]),
            (.rulesChanged([]), .notice, "the rules have changed", [:]),
            (
                .rulesChanged(["a b", "c"]), .notice, "changebot fix --rule 'a b' --rule c --rules r.yaml",
                ["rules": "a b, c"]
            ),
            (
                .timedRulesChanged(["a"]), .notice,
                "to apply them to older documents: start the bot with --catch-up-changed-rules, once",
                ["rules": "a"]
            ),
            (
                .comparingRulesChanged(["a b"]), .notice,
                "stop the bot, and run changebot fix --learn --rule 'a b' --rules r.yaml", ["rules": "a b"]
            ),
            (
                .knowingRulesChanged(["a b"]), .notice,
                "the rules have changed since the checkpoint; they apply from here on", ["rules": "a b"]
            ),
            (.otherCopy, .notice, "starting at the beginning", [:]),
            (
                .atCheckpointCopy(savedAt: "then"), .notice, "the copy in the database",
                ["checkpoint": "5", "saved_at": "then"]
            ),
            (
                .notReached(newest: sequence(4)), .warning, "changebot checkpoint reset --state s",
                ["since": "5", "newest": "4"]
            ),
        ] as [(RunStart.Notice, Logger.Level, String, Logger.Metadata)])
    private func eachNoticeIsOneLine(
        notice: RunStart.Notice, level: Logger.Level, part: String, metadata: Logger.Metadata
    ) throws {
        let lines = LoggedLines()
        RunStart(sequence(5), [notice]).log(to: lines.logger, stateOptions: "--state s", fixOptions: "--rules r.yaml")
        #expect(lines.all.count == 1)
        let line = try #require(lines.all.first)
        #expect(line.level == level && line.metadata == metadata)
        #expect(line.message.contains(part), "\(line.message)")
    }

    /// Regression: a bot with `--catch-up-changed-rules` was advised to start with that option.
    @Test func botThatCatchesUpGetsNoAdvice() throws {
        let lines = LoggedLines()
        RunStart(sequence(5), [.comparingRulesChanged(["a"])]).log(to: lines.logger, stateOptions: "--state s")
        let line = try #require(lines.all.first)
        #expect(!line.message.contains("learn") && !line.message.contains("--catch-up"), "\(line.message)")
    }
}
