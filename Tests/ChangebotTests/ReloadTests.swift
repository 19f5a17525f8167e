import Foundation
import GatewayClient
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// Rules and configuration that change while bots run.
@Suite(.limitedParallelism(minutes: 10, isLong: true)) struct ReloadTests {
    /// A bot whose log is read line by line.
    private final class Daemon {
        let process: ChildProcess

        init(_ arguments: [String]) throws {
            process = try ChildProcess([Program.path, "run"] + arguments, errors: "/dev/stdout")
        }

        /// Reads the log up to a line that contains `part`.
        @discardableResult func wait(for part: String) async throws -> String {
            while let line = await process.readLine() {
                if line.contains(part) { return line }
            }
            throw Ended(before: part)
        }
    }

    /// The bot ended before it logged this text.
    private struct Ended: Error { let before: String }

    private static func rule(_ name: String, _ value: Int, unless member: String) -> String {
        """
        - name: \(name)
          when: { type: task, \(member): { $exists: false } }
          then: [{ merge: { \(member): \(value) } }]

        """
    }

    private func start(_ bed: CommandTestBed, _ more: [String] = []) throws -> Daemon {
        try Daemon(["--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state] + more)
    }

    @Test func newRulesApplyToLaterChanges() async throws {
        // The rule of the start is not the reason: a bot's own write is decided like any other change.
        let old = #"{"_id":"old","type":"task","a":0}"#
        try await CommandTestBed.with([old], rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed)
            try await bot.wait(for: "caught up")
            try bed.write(rules: Self.rule("a", 1, unless: "a") + Self.rule("b", 2, unless: "b"))
            bot.process.signal(SIGHUP)
            let line = try await bot.wait(for: "the rules have changed since the checkpoint; they apply from here on")
            #expect(line.contains("changebot fix --rule b --state"), "\(line)")
            #expect(line.contains("rules=b"), "\(line)")
            try await bot.wait(for: "following the feed")
            try await bed.put([#"{"_id":"new","type":"task"}"#])
            try await bed.wait(for: "new") { $0["b"] != nil }
            #expect(try await bed.document("old")?.root["b"] == nil)
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func invalidFileChangesNothing() async throws {
        try await CommandTestBed.with(rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed, ["--http", "127.0.0.1:0"])
            let url = try #require(try await bot.wait(for: "status page").firstMatch(of: /url=(\S+)/)?.output.1)
            try await bot.wait(for: "caught up")
            try bed.write(rules: Self.rule("a", 2, unless: "a") + "  - broken")
            bot.process.signal(SIGHUP)
            let line = try await bot.wait(for: "the old ones stay in force")
            #expect(line.contains("r.yaml:"), "\(line)")
            try await bed.put([#"{"_id":"t","type":"task"}"#])
            try await bed.wait(for: "t") { $0["a"].map { String(decoding: $0.bytes, as: UTF8.self) } == "1" }
            let status = try JSONText(try await get(url + "status")).root
            #expect(status["reload"]?["failure"]?.string?.contains("r.yaml:") == true)
            let metrics = try await get(url + "metrics")
            #expect(metrics.contains("changebot_last_reload_successful 0\n"))
            #expect(metrics.contains("changebot_reloads_total{result=\"failed\"} 1\n"))
            await bot.process.stop()
        }
    }

    private func get(_ url: some StringProtocol) async throws -> String {
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: String(url)))
        let body = try await response.body.collect(upTo: 1 << 20)
        await client.shutdown()
        return String(decoding: body, as: UTF8.self)
    }

    @Test func watchedFilesAreReloaded() async throws {
        try await CommandTestBed.with(rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed, ["--watch"])
            try await bot.wait(for: "caught up")
            try bed.write(rules: Self.rule("a", 2, unless: "a"))
            try await bot.wait(for: "the rules have changed")
            await bot.process.stop()
        }
    }

    @Test func changedRulesCatchUpInTheBackground() async throws {
        let old = #"{"_id":"old","type":"task","a":0}"#
        try await CommandTestBed.with([old], rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed, ["--catch-up-changed-rules"])
            try await bot.wait(for: "caught up")
            try bed.write(rules: Self.rule("a", 1, unless: "a") + Self.rule("b", 2, unless: "b"))
            bot.process.signal(SIGHUP)
            let line = try await bot.wait(for: "applied new and changed rules to all documents")
            #expect(line.contains("rules=b") && line.contains("written=1"), "\(line)")
            #expect(try await bed.document("old")?.root["b"] != nil)
            await bot.process.stop()
            // The state now knows the rules, so a new start has nothing to catch up with.
            let again = try await bed.runOnce("--catch-up-changed-rules")
            #expect(!again.errors.contains("applying new and changed rules"), "\(again.errors)")
        }
    }

    @Test func oneShotRunWaitsForTheCatchUp() async throws {
        let old = #"{"_id":"old","type":"task","a":0}"#
        try await CommandTestBed.with([old], rules: Self.rule("a", 1, unless: "a")) { bed in
            #expect(try await bed.runOnce().code == 0)
            try bed.write(rules: Self.rule("a", 1, unless: "a") + Self.rule("b", 2, unless: "b"))
            let run = try await bed.runOnce("--catch-up-changed-rules")
            #expect(run.code == 0)
            #expect(run.errors.contains("applied new and changed rules to all documents"), "\(run.errors)")
            #expect(try await bed.document("old")?.root["b"] != nil)
            let again = try await bed.runOnce("--catch-up-changed-rules")
            #expect(!again.errors.contains("applying new and changed rules"), "\(again.errors)")
        }
    }

    @Test func deadLettersOfACatchUpCountInAOneShotRun() async throws {
        let old = #"{"_id":"old","type":"task","a":0}"#
        try await CommandTestBed.with([old], rules: Self.rule("a", 1, unless: "a")) { bed in
            #expect(try await bed.runOnce().code == 0)
            try bed.write(
                rules: Self.rule("a", 1, unless: "a")
                    + "- name: bad\n  when: { type: task }\n  then: [{ merge: { b: { jq: error } } }]\n")
            let run = try await bed.runOnce("--catch-up-changed-rules")
            #expect(run.code == 1)
            #expect(run.errors.contains("1 document became a dead letter when rules"), "\(run.errors)")
        }
    }

    @Test func reloadAddsRemovesAndRestartsBots() async throws {
        try await CommandTestBed.with(rules: Self.rule("a", 1, unless: "a")) { bed in
            let path = bed.folder + "/c.yaml"
            func write(_ bots: String) throws {
                try Data("version: 1\nstate: state\nbots:\n\(bots)".utf8).write(to: URL(fileURLWithPath: path))
            }
            func bot(_ name: String, _ more: String = "") -> String {
                "  - {name: \(name), gateway: \"\(bed.url)\", rules: r.yaml\(more)}\n"
            }
            try write(bot("stays") + bot("goes") + bot("changes"))
            let daemon = try Daemon(["--config", path])
            for _ in 1...3 { try await daemon.wait(for: "caught up") }
            try write(bot("stays") + bot("changes", ", feed: continuous") + bot("comes"))
            daemon.process.signal(SIGHUP)
            let line = try await daemon.wait(for: "reloaded rules and configuration")
            #expect(line.contains(#"changed="goes is removed, changes stops, comes starts""#), "\(line)")
            var started: Set<Substring> = []
            while started.count < 2 {
                let line = try await daemon.wait(for: "following the feed")
                started.insert(try #require(line.firstMatch(of: /bot=(\w+)/)?.output.1))
            }
            #expect(started == ["changes", "comes"])
            #expect(await daemon.process.stop() == 0)
        }
    }

    /// The old rules return before the bot has ended for the new ones.
    @Test func rulesThatReappearAtOnceLeaveTheBotRunning() async throws {
        try await CommandTestBed.with(rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed)
            try await bot.wait(for: "caught up")
            for version in [2, 1, 2, 1, 2, 1] {
                try bed.write(rules: Self.rule("a", version, unless: "a"))
                bot.process.signal(SIGHUP)
                try await bot.wait(for: "reloaded rules and configuration")
            }
            try await bed.put([#"{"_id":"t","type":"task"}"#])
            try await bed.wait(for: "t") { $0["a"] != nil }
            #expect(try await bed.document("t")?.root["a"].map { Array($0.bytes) } == Array("1".utf8))
            #expect(await bot.process.stop() == 0)
        }
    }

    /// Regression: without changes since the start, there was no checkpoint, so new rules ran over all documents.
    @Test func newRulesDoNotRewindBeforeTheStart() async throws {
        let old = #"{"_id":"old","type":"task","a":0}"#
        try await CommandTestBed.with([old], rules: Self.rule("a", 1, unless: "a")) { bed in
            let bot = try start(bed, ["--since", "now"])
            try await bot.wait(for: "caught up")
            try bed.write(rules: Self.rule("b", 2, unless: "b"))
            bot.process.signal(SIGHUP)
            try await bot.wait(for: "following the feed")
            try await bed.put([#"{"_id":"new","type":"task"}"#])
            try await bed.wait(for: "new") { $0["b"] != nil }
            #expect(try await bed.document("old")?.root["b"] == nil)
            await bot.process.stop()
        }
    }

    /// Two rules of one file write the version number of the file. A document for which both fired has the same number
    /// twice, unless parts of two versions decided it.
    @Test func fiftyReloadsUnderLoadMissNoChange() async throws {
        func rules(_ version: Int) -> String {
            """
            - name: a
              when: { type: task, a: { $exists: false } }
              then: [{ merge: { a: \(version) } }]
            - name: b
              when: { type: task, b: { $exists: false } }
              then: [{ merge: { b: \(version) } }]

            """
        }
        try await CommandTestBed.with(rules: rules(0)) { bed in
            let bot = try start(bed)
            try await bot.wait(for: "caught up")
            let ids = (1...50).map { version in (1...20).map { DocumentID("t\(version)-\($0)") } }
            for version in 1...50 {
                let isBroken = version.isMultiple(of: 10)
                // Documents that arrive while the bot reloads its rules.
                async let load: Void = bed.put(ids[version - 1].map { #"{"_id":"\#($0.text)","type":"task"}"# })
                try bed.write(rules: isBroken ? rules(version) + "  - broken" : rules(version))
                bot.process.signal(SIGHUP)
                try await bot.wait(for: isBroken ? "the old ones stay in force" : "following the feed")
                try await bed.put([#"{"_id":"v\#(version)","type":"task"}"#])
                let document = try await bed.wait(for: [DocumentID("v\(version)")]) { $0["b"] != nil }.first
                let expected = isBroken ? version - 1 : version
                #expect(document?.root["b"].map { Array($0.bytes) } == Array("\(expected)".utf8))
                try await load
            }
            let documents = try await bed.wait(for: ids.flatMap(\.self)) { $0["b"] != nil }
            #expect(await bot.process.stop() == 0)
            var versions: Set<String> = []
            for document in documents.map(\.root) {
                let (a, b) = (document["a"]?.bytes, document["b"]?.bytes)
                #expect(a != nil && a.map(Array.init) == b.map(Array.init), "\(document)")
                versions.insert(String(decoding: a ?? [], as: UTF8.self))
            }
            // Several versions were in force in turn, but never an invalid one.
            #expect(versions.count > 1)
            #expect(versions.isDisjoint(with: ["10", "20", "30", "40", "50"]), "\(versions)")
        }
    }
}
