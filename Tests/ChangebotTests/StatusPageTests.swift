import Foundation
import LosslessJSON
import TestKit
import Testing

/// `run --http`, `status` and `list`, as a user runs them.
@Suite(.limitedParallelism) struct StatusPageTests {
    private static let rules = """
        - name: stamp
          when: { type: task, done: { $exists: false } }
          then: [{ merge: { done: true } }]
        """

    /// Calls `body` while a bot runs that has caught up.
    private func whileRunning(
        _ more: [String] = [], _ body: (CommandTestBed, WatchedBot) async throws -> Void
    ) async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rules) { bed in
            let bot = try await bed.watchedBot(more)
            try await bot.wait(for: #""phase":"following""#, #""written":1,"#)
            #expect(try await bot.get("readyz").status == 200)
            try await body(bed, bot)
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func pageMetricsAndStatusAreServed() async throws {
        try await whileRunning { _, bot in
            #expect(try await bot.get().body.contains("<title>changebot</title>"))
            let metrics = try await bot.get("metrics").body
            #expect(metrics.contains("changebot_documents_written_total{bot=\"changebot\"} 1\n"))
            #expect(metrics.contains("changebot_rule_fired_total{bot=\"changebot\",rule=\"stamp\"} 1\n"))
            let status = try JSONText(try await bot.get("status").body).root
            let shown = try #require(status["bots"].map { Array($0.elements) }?.first)
            #expect(shown["phase"]?.string == "following")
            #expect(shown["effects"].map { Array($0.elements) }?.first?["id"]?.string == "a")
            #expect(shown["effects"].map { Array($0.elements) }?.first?["diff"] == nil)
        }
    }

    @Test func changesAreShownIfConfigured() async throws {
        try await whileRunning(["--http-shows-documents"]) { _, bot in
            let status = try await bot.get("status").body
            #expect(status.contains(#""+   \"done\": true""#), "\(status)")
            #expect(!status.contains(#""-   \"type\""#))
        }
    }

    @Test func statusAndListShowARunningBotAndLaterItsState() async throws {
        try await whileRunning { bed, bot in
            let watching = try ChildProcess([Program.path, "status", "--watch", "--state", bed.state])
            while let line = await watching.readLine(), !line.contains("up to date") {}
            watching.kill()
            let list = try await Program.run(["list", "--state", bed.state, "--json"])
            let row = try JSONText(list.output).root
            #expect(row["name"]?.string == "changebot")
            #expect(row["gateway"]?.string == bed.url)
            #expect(row["process"].map { String(decoding: $0.bytes, as: UTF8.self) } == "\(bot.process.id)")
            await bot.process.stop()
            #expect(try await bed.command("status").output.hasPrefix("changebot: not running\n"))
            #expect(try await Program.run(["list", "--state", bed.state]).output.contains("not running"))
        }
    }

    @Test func downReceiverIsShownWithoutItsPath() async throws {
        let port = try FreePort.find()
        let rules = """
            - name: tell
              when: { type: task }
              then: [{ webhook: { url: "http://127.0.0.1:\(port)/s3cret?key=s3cret" } }]
            """
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: rules) { bed in
            let bot = try await bed.watchedBot([])
            let origin = "http://127.0.0.1:\(port)"
            try await bot.wait(for: #""receivers_down":[{"kind":"webhooks","url":"\#(origin)","#, #""waiting":1,"#)
            let status = try await bot.get("status").body
            #expect(status.contains("Connection refused") && !status.contains("s3cret"), "\(status)")
            let metrics = try await bot.get("metrics").body
            #expect(metrics.contains("changebot_receivers_down{bot=\"changebot\"} 1\n"))
            let watching = try ChildProcess([Program.path, "status", "--watch", "--state", bed.state])
            var line = await watching.readLine()
            while let text = line, !text.hasPrefix("  receiver ") { line = await watching.readLine() }
            watching.kill()
            #expect(line?.contains("\(origin) down since 20") == true, "\(line ?? "")")
            #expect(line?.contains("1 waiting: ") == true && line?.contains("s3cret") == false, "\(line ?? "")")
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func usedPortIsNamedWithItsProgram() async throws {
        try await whileRunning { bed, bot in
            let port = try #require(bot.page.firstMatch(of: /:([0-9]+)\//)?.output.1)
            let result = try await bed.runOnce("--http", "127.0.0.1:\(port)", "--name", "other")
            #expect(result.code == 69)
            #expect(result.errors.contains("changebot (process \(bot.process.id)) listens there"), "\(result.errors)")
        }
    }

    @Test(arguments: [
        ("0.0.0.0:9464", "add --http-allow-remote"), ("example.org:80", "add --http-allow-remote"),
        ("9464", "write HOST:PORT"), ("127.0.0.1:99999", "write a port"),
    ]) func openOrInvalidAddressIsRefused(_ address: String, _ advice: String) async throws {
        let result = try await Program.run([
            "run", "--gateway", "embedded:", "--rules", Program.pictureRules, "--once", "--http", address,
        ])
        #expect(result.code == 64)
        #expect(result.errors.contains("--http"))
        #expect(result.errors.contains(advice), "\(result.errors)")
    }
}
