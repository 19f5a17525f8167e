import Foundation
import GatewayClient
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// `run --http`, `status` and `list`, as a user meets them.
@Suite(.timeLimit(.minutes(5))) struct StatusPageTests {
    private static let rules = """
        - name: stamp
          when: { type: task, done: { $exists: false } }
          then: [{ merge: { done: true } }]
        """

    /// A bot that has caught up, and where its page is.
    private func whileRunning(
        _ more: [String] = [], _ body: (CommandTestBed, _ bot: ChildProcess, _ page: String) async throws -> Void
    ) async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rules) { bed in
            let errors = bed.folder + "/errors"
            let bot = try ChildProcess(
                [
                    Program.path, "run", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state",
                    bed.state, "--http", "127.0.0.1:0",
                ] + more, errors: errors)
            try await bed.wait(for: "a") { $0["done"] != nil }
            let log = try String(contentsOfFile: errors, encoding: .utf8)
            let page = try #require(log.firstMatch(of: /url=(http:\S+\/)/)?.output.1)
            try await waitUntilUpToDate(String(page))
            #expect(try await get(page + "readyz").status == 200)
            try await body(bed, bot, String(page))
            #expect(await bot.stop() == 0)
        }
    }

    /// Reads the events of the page until one says that the write has been seen.
    private func waitUntilUpToDate(_ page: String) async throws {
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: page + "events"))
        var events = ""
        for try await piece in response.body {
            events += String(decoding: piece, as: UTF8.self)
            guard let last = events.ranges(of: "event: status").last else { continue }
            let event = events[last.lowerBound...]
            if event.contains(#""phase":"following""#), event.contains(#""written":1,"#), event.contains("\n\n") {
                break
            }
        }
        await client.shutdown()
    }

    private func get(_ url: some StringProtocol) async throws -> (status: Int, body: String) {
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: String(url)))
        let body = try await response.body.collect(upTo: 1 << 20)
        await client.shutdown()
        return (response.status, String(decoding: body, as: UTF8.self))
    }

    @Test func thePageItsMetricsAndItsStatusAreServed() async throws {
        try await whileRunning { _, _, page in
            #expect(try await get(page).body.contains("<title>changebot</title>"))
            let metrics = try await get(page + "metrics").body
            #expect(metrics.contains("changebot_documents_written_total{bot=\"changebot\"} 1\n"))
            #expect(metrics.contains("changebot_rule_fired_total{bot=\"changebot\",rule=\"stamp\"} 1\n"))
            let status = try JSONText(try await get(page + "status").body).root
            let bot = try #require(status["bots"].map { Array($0.elements) }?.first)
            #expect(bot["phase"]?.string == "following")
            #expect(bot["effects"].map { Array($0.elements) }?.first?["id"]?.string == "a")
            #expect(bot["effects"].map { Array($0.elements) }?.first?["diff"] == nil)
        }
    }

    @Test func whatChangedIsShownIfThatIsWanted() async throws {
        try await whileRunning(["--http-shows-documents"]) { _, _, page in
            let status = try await get(page + "status").body
            #expect(status.contains(#""+   \"done\": true""#), "\(status)")
            #expect(!status.contains(#""-   \"type\""#))
        }
    }

    @Test func statusAndListShowARunningBotAndLaterItsState() async throws {
        try await whileRunning { bed, bot, _ in
            let watching = try ChildProcess([Program.path, "status", "--watch", "--state", bed.state])
            while let line = await watching.readLine(), !line.contains("up to date") {}
            watching.kill()
            let list = try await Program.run(["list", "--state", bed.state, "--json"])
            let row = try JSONText(list.output).root
            #expect(row["name"]?.string == "changebot")
            #expect(row["gateway"]?.string == bed.url)
            #expect(row["process"].map { String(decoding: $0.bytes, as: UTF8.self) } == "\(bot.id)")
            await bot.stop()
            #expect(try await bed.command("status").output.hasPrefix("changebot: not running\n"))
            #expect(try await Program.run(["list", "--state", bed.state]).output.contains("not running"))
        }
    }

    @Test func aPortThatIsTakenIsNamedWithItsProgram() async throws {
        try await whileRunning { bed, bot, page in
            let port = try #require(page.firstMatch(of: /:([0-9]+)\//)?.output.1)
            let result = try await bed.runOnce("--http", "127.0.0.1:\(port)", "--name", "other")
            #expect(result.code == 69)
            #expect(result.errors.contains("changebot (process \(bot.id)) listens there"), "\(result.errors)")
        }
    }

    @Test(arguments: [
        ("0.0.0.0:9464", "add --http-allow-remote"), ("example.org:80", "add --http-allow-remote"),
        ("9464", "write HOST:PORT"), ("127.0.0.1:99999", "write a port"),
    ]) func anAddressThatIsOpenOrWrongIsRefused(_ address: String, _ advice: String) async throws {
        let result = try await Program.run([
            "run", "--gateway", "embedded:", "--rules", Program.pictureRules, "--once", "--http", address,
        ])
        #expect(result.code == 64)
        #expect(result.errors.contains("--http"))
        #expect(result.errors.contains(advice), "\(result.errors)")
    }
}
