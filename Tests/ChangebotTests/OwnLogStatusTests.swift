import LosslessJSON
import TestKit
import Testing

/// `run --role auto` without an engine, as it is watched.
@Suite(.limitedParallelism) struct OwnLogStatusTests {
    private static let rules = """
        - name: tell
          when: { type: task }
          then: [{ webhook: { url: "http://127.0.0.1:9/" } }]
        """

    /// Once only a fleet showed that.
    @Test func whatWaitsInTheLogIsShown() async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            let bot = try await bed.watchedBot(["--role", "auto"])
            try await bed.put([#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"task"}"#])
            // Nobody takes the webhooks.
            try await bot.wait(for: #""parked":2"#)
            #expect(
                try await bot.get("metrics").body.contains("changebot_fleet_parked_changes{bot=\"changebot\"} 2\n"))
            var lines = ""
            while !lines.contains("  log           0 changes, 2 parked\n") {
                lines = try await Program.run(["status", "--state", bed.state]).output
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(await bot.process.stop() == 0)
            let later = try await Program.run(["status", "--state", bed.state]).output
            #expect(later.contains("not running"))
            #expect(
                later.split(separator: "\n").contains { $0.hasPrefix("  log ") && $0.hasSuffix(" 0 changes, 2 parked") }
            )
            let shown = try await Program.run(["status", "--json", "--state", bed.state]).output
            #expect(try JSONText(shown).root["log"]?["parked"]?.integer == 2)
        }
    }
}
