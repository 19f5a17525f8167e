import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `changebot backfill`.
@Suite(.limitedParallelism(isLong: true)) struct BackfillCommandTests {
    private static let rules = """
          - name: stamp
            when: { type: task, stamped: { $exists: false } }
            then: [{ merge: { stamped: true } }]
          - name: count
            when: { type: task }
            then: [{ aggregate: { into: totals, count: { n: true } } }]
          - name: moved
            when: { type: task }
            changed: [x]
            then: []

        """
    private static let documents = (0..<5).map { #"{"_id":"t\#($0)","type":"task","n":\#($0)}"# }
    private static let ids = (0..<5).map { DocumentID("t\($0)") }

    /// Starts at the newest sequence, so that the rule has not seen the documents.
    private func with(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            #expect(try await bed.runOnce("--since", "now").code == 0)
            try await body(bed)
        }
    }

    private func stamped(_ bed: CommandTestBed) async throws -> Int {
        var count = 0
        for id in Self.ids where try await bed.document(id)?.root["stamped"] != nil { count += 1 }
        return count
    }

    @Test func runningBotBeginsWithinSeconds() async throws {
        try await with { bed in
            let bot = try bed.startDaemon()
            try await Program.run(["status", "--state", bed.state]) { $0.output.contains("up to date") }
            let ordered = try await bed.command("backfill", "--rule", "stamp")
            #expect(ordered.code == 0, "\(ordered.errors)")
            #expect(
                ordered.errors.contains(
                    "is ordered: the running bot takes this up within seconds; see it with: changebot status"))
            _ = try await bed.wait(for: Self.ids) { $0["stamped"]?.bool == true }
            try await Program.run(["status", "--state", bed.state]) { $0.output.contains("stamp: done at ") }
            let status = try JSONText(try await bed.command("status", "--json").output).root["backfills"]
            let backfill = try #require(status?.elements.first { _ in true })
            #expect(backfill["rule"]?.string == "stamp" && backfill["state"]?.string == "done")
            #expect(backfill["matched"]?.integer == 5 && backfill["written"]?.integer == 5)
            #expect(await bot.stop() == 0)
        }
    }

    @Test func orderWaitsForTheBot() async throws {
        try await with { bed in
            let selector = #"{"n":{"$gt":2}}"#
            let ordered = try await bed.command("backfill", "--rule", "stamp", "--selector", selector, "--rate", "50")
            #expect(
                ordered.code == 0
                    && ordered.errors.contains("the bot is not running, so this takes effect at its next start"))
            #expect(try await bed.command("status").output.contains("  stamp: waiting"))
            let again = try await bed.command("backfill", "--rule", "stamp")
            #expect(again.code == 75 && again.errors.contains("--cancel"), "\(again.errors)")
            #expect(try await bed.runOnce().code == 0)
            #expect(try await stamped(bed) == 2)
            let status = try await bed.command("status").output
            #expect(status.contains("stamp: done at ") && status.contains("fired on 2, wrote 2"), "\(status)")
        }
    }

    @Test func backfillCanBeCancelled() async throws {
        try await with { bed in
            #expect(try await bed.command("backfill", "--rule", "stamp").code == 0)
            let cancelled = try await bed.command("backfill", "--rule", "stamp", "--cancel")
            #expect(cancelled.code == 0 && cancelled.errors.contains("is cancelled, after 0 documents"))
            let none = try await bed.command("backfill", "--rule", "stamp", "--cancel")
            #expect(none.code == 0 && none.errors.contains("no backfill of 'stamp' is under way"))
            #expect(try await bed.runOnce().code == 0)
            #expect(try await stamped(bed) == 0)
        }
    }

    @Test func wrongOrdersAreRefused() async throws {
        try await with { bed in
            let wrong: [(arguments: [String], code: Int32, message: String)] = [
                (["--rule", "stanp"], 64, "the bot has no rule 'stanp': did you mean 'stamp'?"),
                (["--rule", "count"], 64, "it needs no backfill"), (["--rule", "moved"], 64, "follows the feed"),
                (["--rule", "stamp", "--selector", "{"], 65, "--selector:1:"),
                (["--rule", "stamp", "--rate", "0"], 64, "--rate must be at least 1"),
                (["--rule", "stamp", "--cancel", "--rate", "5"], 64, "--cancel takes neither"), ([], 64, "--rule"),
            ]
            for (arguments, code, message) in wrong {
                let result = try await Program.run(["backfill", "--state", bed.state] + arguments)
                #expect(result.code == code && result.errors.contains(message), "\(arguments): \(result.errors)")
            }
            #expect(try await bed.command("status", "--json").output.contains(#""backfills":[]"#))
        }
    }

    /// The member that leads carries out the order.
    @Test func fleetBackfills() async throws {
        let server = try TestPostgres.shared
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let engine = ["--engine", server.url(), "--fleet", server.uniqueName("backfill"), "--lease", "2s"]
            func start(_ number: Int) throws -> ChildProcess {
                try ChildProcess(
                    [Program.path, "run", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--since", "now"]
                        + engine + [
                            "--state", bed.state + "\(number)", "--role", "auto", "--partitions", "4", "--log-level",
                            "error",
                        ])
            }
            let first = try start(1)
            try await Program.run(["backfill", "--rule", "stamp"] + engine) { $0.code == 0 }
            let second = try start(2)
            _ = try await bed.wait(for: Self.ids) { $0["stamped"]?.bool == true }
            try await Program.run(["checkpoint", "show"] + engine) { $0.output.contains("stamp: done at ") }
            for bot in [first, second] { #expect(await bot.stop() == 0) }
        }
    }
}
