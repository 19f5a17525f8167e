import Foundation
import LosslessJSON
import TestKit
import Testing

/// `/metrics` as Prometheus reads it.
@Suite(.serialized, .limitedParallelism) struct PrometheusTests {
    private static let prometheus = InstalledProgram("prometheus", requiredBy: "CHANGEBOT_TEST_PROMETHEUS")
    private static let promtool = InstalledProgram("promtool", requiredBy: "CHANGEBOT_TEST_PROMETHEUS")

    private static let rules = """
        - name: "st\\"amp"
          when: { type: task, done: { $exists: false } }
          then: [{ merge: { done: { jq: "true" } } }]
        - name: failing
          when: { type: bad }
          then: [{ merge: { x: { jq: .text | error } } }]
        """

    /// A bot that has written a document, and has a dead letter.
    private func withTraffic(_ body: (CommandTestBed, WatchedBot) async throws -> Void) async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"bad","text":"x"}"#]
        try await CommandTestBed.with(documents, rules: Self.rules) { bed in
            let bot = try await bed.watchedBot()
            try await bot.wait(for: #""phase":"following""#, #""written":1,"#, #""dead_letters":1,"#)
            try await body(bed, bot)
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test(.enabled(if: prometheus.isWanted)) func prometheusScrapesABot() async throws {
        let path = try #require(Self.prometheus.path, "there is no prometheus in PATH")
        try await withTraffic { bed, bot in
            let target = try #require(bot.page.firstMatch(of: /127\.0\.0\.1:[0-9]+/)?.output)
            let file = bed.folder + "/prometheus.yml"
            try """
            global: { scrape_interval: 1s }
            scrape_configs:
              - { job_name: changebot, static_configs: [{ targets: ["\(target)"] }] }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let address = "127.0.0.1:\(try FreePort.find())"
            let process = try ChildProcess(
                [
                    path, "--config.file=\(file)", "--storage.tsdb.path=\(bed.folder)/tsdb",
                    "--web.listen-address=\(address)",
                ], errors: bed.folder + "/prometheus-errors")
            defer { process.kill() }
            let api = "http://\(address)/api/v1/query?query="
            #expect(try await value(api + "changebot_documents_written_total", bed) == "1")
            #expect(try await value(api + "up", bed) == "1")
            #expect(try await value(api + "changebot_dead_letters_open%7Brule=%22failing%22%7D", bed) == "1")
            #expect(try await value(api + "changebot_jq_seconds_count", bed).flatMap { Int($0) } ?? 0 > 0)
            #expect(try await value(api + "changebot_settle_seconds_count", bed) == "2")
        }
    }

    /// The value of the only series; repeats the query until there is one.
    private func value(_ url: String, _ bed: CommandTestBed) async throws -> String? {
        let limit = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < limit {
            // While it starts, it answers with a text.
            let answer = try? await WatchedBot.get(url).body
            let result = answer.flatMap { try? JSONText($0) }?.root["data"]?["result"].map { Array($0.elements) }
            if let series = result?.first { return series["value"].flatMap { Array($0.elements).last?.string } }
            try await Task.sleep(for: .milliseconds(200))
        }
        let log = try String(contentsOfFile: bed.folder + "/prometheus-errors", encoding: .utf8)
        Issue.record("no answer to \(url): \(log)")
        return nil
    }

    @Test(.enabled(if: promtool.isWanted)) func promtoolAcceptsTheMetrics() async throws {
        let path = try #require(Self.promtool.path, "there is no promtool in PATH")
        try await withTraffic { bed, bot in
            let metrics = try await bot.get("metrics").body
            #expect(metrics.contains("changebot_jq_seconds_bucket"))
            try metrics.write(toFile: bed.folder + "/metrics", atomically: true, encoding: .utf8)
            let process = try ChildProcess(
                ["/bin/sh", "-c", "exec \(path) check metrics < \(bed.folder)/metrics 2>&1"])
            let output = String(decoding: await process.readToEnd(), as: UTF8.self)
            #expect(await process.wait() == 0, "\(output)")
            #expect(output == "")
        }
    }
}
