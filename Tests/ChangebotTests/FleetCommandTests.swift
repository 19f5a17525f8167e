import Foundation
import LosslessJSON
import TestKit
import Testing

/// `fleet`, as an operator uses it, with two members that share the work.
@Suite(.serialized, .limitedParallelism) struct FleetCommandTests {
    private static let rules = """
        - name: stamp
          when: { type: task, done: { $exists: false } }
          then: [{ merge: { done: true } }]
        """

    private static func with(
        _ server: TestPostgres, _ more: [String] = ["--role", "auto", "--partitions", "8"],
        _ body: (CommandTestBed, _ engine: [String], WatchedBot, WatchedBot) async throws -> Void
    ) async throws {
        try await CommandTestBed.with(rules: rules) { bed in
            let engine = ["--engine", server.url(), "--fleet", server.uniqueName("fleet"), "--lease", "3s"]
            let first = try await start(bed, 1, engine + more)
            let second = try await start(bed, 2, engine + more)
            try await body(bed, engine, first, second)
            for bot in [first, second] { #expect(await bot.process.stop() == 0) }
        }
    }

    private static func start(_ bed: CommandTestBed, _ number: Int, _ more: [String]) async throws -> WatchedBot {
        try await WatchedBot.start(
            ["--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state + "\(number)"] + more)
    }

    private static func status(_ engine: [String]) async throws -> JSONValue {
        try JSONText(try await Program.run(["fleet", "status", "--json", "--by-partition"] + engine).output).root
    }

    private static func members(_ status: JSONValue) -> [JSONValue] {
        status["members"].map { Array($0.elements) } ?? []
    }

    /// Returns the members once they satisfy the condition.
    private static func wait(
        _ engine: [String], until isReached: ([JSONValue]) -> Bool
    ) async throws -> [JSONValue] {
        while true {
            if let status = try? await status(engine), isReached(members(status)) { return members(status) }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The status of both bots, once one of them knows that it is drained: it releases its partitions before that.
    private static func statusOfDrained(_ first: WatchedBot, _ second: WatchedBot) async throws -> [String] {
        while true {
            let shown = try await [first, second].asyncMap { try await $0.get("status").body }
            if shown.contains(where: { $0.contains(#""phase":"drained""#) }) { return shown }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func haveShares(_ members: [JSONValue], _ shares: [String]) -> Bool {
        members.compactMap { $0["partitions"].map { String(decoding: $0.bytes, as: UTF8.self) } }.sorted() == shares
    }

    @Test func operatorSeesAndDrainsSharingMembers() async throws {
        let server = try TestPostgres.shared
        try await Self.with(server) { bed, engine, first, second in
            let members = try await Self.wait(engine) { Self.haveShares($0, ["4", "4"]) }
            #expect(members.map { $0["state"]?.string } == ["works", "works"])
            let text = try await Program.run(["fleet", "status", "--by-partition"] + engine).output
            #expect(text.contains("2 members sharing the work"))
            #expect(text.contains(", 4 of 8 partitions, "))
            #expect(text.contains("  partition 7    "))
            #expect(!text.contains("different rules"))

            let id = try #require(members[0]["id"]?.string)
            let drained = try await Program.run(["fleet", "drain", String(id.prefix(6))] + engine)
            #expect(drained.output.hasPrefix("asked to drain: \(id), pid "), "\(drained)")
            _ = try await Self.wait(engine) { Self.haveShares($0, ["0", "8"]) }
            let shown = try await Self.statusOfDrained(first, second)
            #expect(shown.count { $0.contains(#""phase":"drained""#) } == 1)
            #expect(shown.allSatisfy { $0.contains(#""fleet":{"name":"#) && $0.contains(#""state":"drained""#) })
            let metrics = try await [first, second].asyncMap { try await $0.get("metrics").body }
            #expect(metrics.count { $0.contains("changebot_fleet_drained{bot=\"\(engine[3])\"} 1\n") } == 1)
            #expect(metrics.allSatisfy { $0.contains("changebot_fleet_members{bot=\"\(engine[3])\"} 2\n") })
            #expect(try await first.get("readyz").status == 200)

            try await bed.put([#"{"_id":"a","type":"task"}"#])
            let again = try await Program.run(["fleet", "drain", id, "--undo"] + engine)
            #expect(again.output.hasPrefix("no longer drained: \(id), pid "))
            _ = try await Self.wait(engine) { Self.haveShares($0, ["4", "4"]) }
            let dead = try await Program.run(["fleet", "dead"] + engine)
            #expect(dead.code == 0 && dead.output.isEmpty && dead.errors.contains("no changes have crashed"), "\(dead)")
        }
    }

    @Test(arguments: [
        (["--role", "auto", "--partitions", "8"], "still has 8 partitions and reads the feed: "),
        ([], "still has the lease of the run: "),
    ])
    func drainWaitsForTheMember(role: [String], rest: String) async throws {
        let server = try TestPostgres.shared
        try await CommandTestBed.with(rules: Self.rules) { bed in
            // Long enough for two commands while the member is suspended.
            let engine = ["--engine", server.url(), "--fleet", server.uniqueName("fleet"), "--lease", "60s"]
            let bot = try await Self.start(bed, 1, engine + role)
            let isAlone = role.isEmpty
            let id = try #require(
                try await Self.wait(engine) {
                    isAlone
                        // It gets the lease first, and its role when it is a member.
                        ? $0.first?["runs"]?.bool == true && $0.first?["role"]?.string != nil
                        : Self.haveShares($0, ["8"]) && $0.first?["reads_feed"]?.bool == true
                }.first?["id"]?.string)
            let early = try await Self.drainWhileSuspended(bot, id, engine)
            #expect(early.code == 75 && early.output.hasPrefix("asked to drain: \(id), pid "), "\(early)")
            #expect(early.errors.contains("after 0s, the member \(rest)\(id), pid "), "\(early)")
            bot.process.resume()
            let done = try await Program.run(["fleet", "drain", id, "--wait", "1h"] + engine)
            #expect(done.code == 0 && done.output.hasPrefix("drained: \(id), pid "), "\(done)")
            #expect(try await Self.members(Self.status(engine)).map { $0["state"]?.string } == ["drained"])

            let both = try await Program.run(["fleet", "drain", id, "--undo", "--wait", "1s"] + engine)
            #expect(both.code == 64 && both.errors.contains("remove --wait"), "\(both)")
            #expect(await bot.process.stop() == 0)
        }
    }

    /// Asks a member that stands still to drain. Not at a moment at which it holds a lock: it would keep the lock.
    private static func drainWhileSuspended(
        _ bot: WatchedBot, _ id: String, _ engine: [String]
    ) async throws -> Program.Result {
        while true {
            bot.process.suspend()
            let result = try await Program.run(["fleet", "drain", id, "--wait", "0s"] + engine)
            guard result.errors.contains("lock timeout") else { return result }
            bot.process.resume()
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    @Test func memberMustBeNamedIfSeveralWork() async throws {
        let server = try TestPostgres.shared
        try await Self.with(server) { _, engine, _, _ in
            _ = try await Self.wait(engine) { Self.haveShares($0, ["4", "4"]) }
            let release = try await Program.run(["fleet", "release"] + engine)
            #expect(release.code == 64 && release.errors.contains("several members are active; name one of them: "))
            let unknown = try await Program.run(["fleet", "drain", "nobody"] + engine)
            #expect(unknown.code == 66 && unknown.errors.contains("the fleet has no member 'nobody'; there are: "))
            // Both are on this machine.
            let machine = try await Program.run(["fleet", "drain", ProcessInfo.processInfo.hostName] + engine)
            #expect(machine.code != 0)
        }
    }

    @Test func scrapeIsAnsweredWithoutTheEngine() async throws {
        let server = try TestPostgres()
        try await Self.with(server, []) { _, engine, first, _ in
            _ = try await Self.wait(engine) { $0.contains { $0["state"]?.string == "runs" } && $0.count == 2 }
            #expect(try await first.get("metrics").body.contains("changebot_fleet_engine_up{bot=\"\(engine[3])\"} 1\n"))
            server.freeze()
            // The last reported values are shown for some seconds.
            var metrics = ""
            while !metrics.contains("changebot_fleet_engine_up{bot=\"\(engine[3])\"} 0\n") {
                metrics = try await first.get("metrics").body
            }
            #expect(metrics.contains("changebot_fleet_members{bot=\"\(engine[3])\"} NaN\n"))
            server.thaw()
            _ = try await Self.wait(engine) { $0.contains { $0["state"]?.string == "runs" } }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
