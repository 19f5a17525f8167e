import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import Logging
import LosslessJSON
import TestKit
import Testing

private enum EdgeOracleSize {
    static let edits = ProcessInfo.processInfo.environment["CHANGEBOT_EDGE_EDITS"].flatMap { Int($0) } ?? 300
    static let minutes = edits > 1_000 ? 120 : 5
}

/// Random edits of the same documents by several clients, with branches, deletions and killed programs, compared with
/// the events of rules with `changed`, `enter` and `leave`.
///
/// `CHANGEBOT_EDGE_EDITS` sets the number of edits, of ten times fewer documents; `CHANGEBOT_EDGE_SEED` repeats a run.
/// With `CHANGEBOT_TEST_GATEWAY`, the documents are in an empty database of that server: run one of the tests alone.
@Suite(.limitedParallelism(minutes: EdgeOracleSize.minutes, isLong: true)) struct EdgeOracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let edits = EdgeOracleSize.edits
    private static let seed = environment["CHANGEBOT_EDGE_SEED"].flatMap { UInt64($0) } ?? 1
    private static let places = [
        "decided", "outsideEffectsDone", "written", "recorded", "finished", "checkpointSaved",
    ]
    private static let clients = 4
    /// The rule for the documents that end a round of a fleet.
    private static let mark = "mark"

    private static func rules(_ receiver: String) -> String {
        func tell(_ name: String, _ conditions: String, member: String? = "done") -> String {
            let matches = ".type == \"task\" and .done == true and ._deleted != true"
            let before = member.map { "$before.\($0)" } ?? "null"
            let body = "[\"\(name)\", ._id, ._rev, \(before), .\(member ?? "done"), (\(matches))]"
            return """
                  - name: \(name)
                    \(conditions)
                    then: [ webhook: { url: \(receiver), body: { jq: '\(body)' } } ]
                """
        }
        let look = tell("look", "when: { _id: { $regex: 'a$' } }\n    on: [change, delete]", member: nil)
        return """
            version: 1
            rules:
            \(look)
            \(tell("changed", "when: { type: task }\n    changed: [done]"))
            \(tell("finished", "when: { type: task, done: true }\n    on: [enter]"))
            \(tell("reopened", "when: { type: task, done: true }\n    on: [leave]\n    remember: [done]"))
            \(tell("both", "when: { type: task, done: true }\n    on: [enter, leave]\n    remember: [done]"))
              - name: echo
                when: { _id: { $regex: 'c$' }, type: task }
                changed: [done]
                first: fire
                then: [ merge: { echo: { jq: '[.done]' } } ]
            \(tell("echoed", "when: { _id: { $regex: 'c$' }, type: task }\n    changed: [echo]", member: "echo"))
            \(tell(mark, "when: { type: mark }", member: nil))
            """
    }

    /// The events, and how many processes were killed.
    private struct Received: Sendable {
        var events: [EdgeEvent] = []
        var kills = 0
        var invalid = 0
        var marks: Set<DocumentID> = []
    }

    private struct TestBed: Sendable {
        /// Of all processes.
        let arguments: [String]
        let credentials: [String: String]
        let folder: String
        let writers: EdgeWriters
        let receiver: TestServer
        let received: Monitor<Received>

        func start(_ member: Int, environment: [String: String] = [:], _ more: [String] = []) throws -> ChildProcess {
            let place = folder + "/\(member)"
            return try ChildProcess(
                [Program.path, "run", "--state", folder + "/state\(member)"] + arguments + more,
                environment: environment.merging(credentials) { first, _ in first }, errors: place + ".log")
        }

        /// Waits until a process has ended, kills it if it runs for too long, and counts the kill.
        func kill(_ process: ChildProcess, within time: Duration) async throws {
            let end = ContinuousClock.now + time
            while !process.hasEnded, .now < end { try await Task.sleep(for: .milliseconds(5)) }
            process.kill()
            // The receiver may still read requests that were sent before.
            await receiver.waitForEndedClients()
            received.with { $0.kills += 1 }
        }

        /// Lets a run end, which then has recorded all.
        func finish(_ more: [String] = []) async throws {
            let process = try start(0, ["--once"] + more)
            let code = await process.wait()
            let log = (try? String(contentsOfFile: folder + "/0.log", encoding: .utf8)) ?? ""
            #expect(code == 0, "\(log)")
        }

        /// Waits until the members of a fleet have recorded all changes.
        func settle(_ engine: [String]) async throws {
            let id = DocumentID("mark-\(UUID().uuidString)")
            let body = Array(#"{"_id":"\#(id.text)","type":"mark"}"#.utf8)
            _ = try await writers.phone.bulkDocs([BulkDocument(id: id, segments: [body])])
            // Then the log has all changes before it.
            await received.wait { $0.marks.contains(id) }
            try await Program.run(["fleet", "status", "--json"] + engine) { status in
                let shared = (try? JSONText(status.output))?.root["shared"]
                return shared?["waiting"]?.integer == 0 && shared?["parked"]?.integer == 0
            }
        }
    }

    /// Half of the processes are killed at a crash point, the others at any time.
    private static func crash(_ random: inout SplitMix64) -> [String: String] {
        guard random.chance(2) else { return [:] }
        return ["CHANGEBOT_CRASH_AT": "\(random.pick(places)):\(1 + random.below(6))"]
    }

    private static func withGateway(_ body: (_ url: String, _ settings: GatewaySettings) async throws -> Void)
        async throws
    {
        if let url = environment["CHANGEBOT_TEST_GATEWAY"], !url.isEmpty {
            var settings = GatewaySettings()
            if let user = environment["CHANGEBOT_TEST_GATEWAY_USER"] {
                let password = environment["CHANGEBOT_TEST_GATEWAY_PASSWORD"] ?? ""
                settings.credentials = .basic(user: user, password: password)
            }
            return try await body(url, settings)
        }
        var logger = Logger(label: "gateway")
        logger.logLevel = .critical
        var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: logger)
        configuration.allowsConflicts = true
        let gateway = EmbeddedGateway(configuration)
        let url = try await gateway.start().url
        do { try await body(url, GatewaySettings()) } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    private static func with(_ more: [String], _ body: (TestBed) async throws -> Void) async throws {
        let received = Monitor(Received())
        let server = try TestServer { connection in
            try connection.serve { request in
                let id = request.values(of: "webhook-id").first ?? ""
                received.with { received in
                    guard let event = EdgeEvent(request.body, id: id, kills: received.kills) else {
                        received.invalid += 1
                        return
                    }
                    if event.rule == mark {
                        received.marks.insert(event.document)
                    } else {
                        received.events.append(event)
                    }
                }
                try connection.answer(204)
            }
        }
        try await Program.withDirectory { folder in
            try await withGateway { url, settings in
                let rules = folder + "/rules.yaml"
                try Data(Self.rules(server.url()).utf8).write(to: URL(fileURLWithPath: rules))
                let arguments = ["--gateway", url, "--rules", rules, "--log-level", "error"] + more
                var credentials: [String: String] = [:]
                if let user = environment["CHANGEBOT_TEST_GATEWAY_USER"] {
                    credentials["CHANGEBOT_USER"] = user
                    credentials["CHANGEBOT_PASSWORD"] = environment["CHANGEBOT_TEST_GATEWAY_PASSWORD"] ?? ""
                }
                let phone = Gateway(try GatewayURL(url), settings: settings)
                let prefix = more.isEmpty ? "e" : "f"
                let bed = TestBed(
                    arguments: arguments, credentials: credentials, folder: folder,
                    writers: EdgeWriters(phone, prefix: prefix, count: max(30, edits / 10)), receiver: server,
                    received: received)
                try await body(bed)
                await phone.shutdown()
            }
        }
    }

    /// Rounds of edits during which `disturb` runs. After each round, `settle` lets the bot finish.
    private static func play(
        _ bed: TestBed, rounds: Int, disturb: @escaping @Sendable (SplitMix64) async throws -> Void,
        settle: () async throws -> Void
    ) async throws {
        var random = SplitMix64(seed: seed)
        var oracle = EdgeOracle { [writers = bed.writers] in writers.state($0, $1) }
        let edits = edits / rounds / clients
        for _ in 0..<rounds {
            let seeds = (0..<clients).map { _ in random.next() }
            let trouble = SplitMix64(seed: random.next())
            try await withThrowingTaskGroup { group in
                for seed in seeds { group.addTask { try await bed.writers.edit(edits, seed: seed) } }
                group.addTask { try await disturb(trouble) }
                try await group.waitForAll()
            }
            try await settle()
            let (events, kills, invalid) = bed.received.with { received in
                defer { received.events = [] }
                return (received.events, received.kills, received.invalid)
            }
            #expect(invalid == 0)
            let now = try await bed.writers.current()
            oracle.settle(events, kills: kills, now)
            if oracle.faults.count > 20 { break }
        }
        let kills = bed.received.with { $0.kills }
        print("edges: \(edits * rounds * clients) edits, \(kills) kills, \(oracle.repeated) repeated, \(oracle.counts)")
        let faults = oracle.faults
        if !faults.isEmpty { Issue.record("\(faults.count): \(faults.prefix(10).joined(separator: "\n"))") }
    }

    @Test func eachEdgeBetweenTwoLooksFiresOnce() async throws {
        try await Self.with([]) { bed in
            try await Self.play(bed, rounds: max(3, Self.edits / 500)) { random in
                var random = random
                for _ in 0..<2 {
                    let process = try bed.start(0, environment: Self.crash(&random))
                    try await bed.kill(process, within: .milliseconds(500 + random.below(2_000)))
                }
            } settle: {
                try await bed.finish()
            }
        }
    }

    /// Three members share the work. One after the other is killed and started again.
    @Test func eachEdgeFiresOnceInAFleet() async throws {
        let postgres = try TestPostgres.shared
        let engine = ["--engine", postgres.url(), "--fleet", postgres.uniqueName("edges")]
        let sharing = ["--role", "auto", "--partitions", "8"]
        try await Self.with(engine + ["--lease", "3s"]) { bed in
            let members = Monitor(try (0..<3).map { try bed.start($0, sharing) })
            @Sendable func replace(_ member: Int, _ environment: [String: String], within time: Duration) async throws {
                try await bed.kill(members.quietly { $0[member] }, within: time)
                let next = try bed.start(member, environment: environment, sharing)
                members.with { $0[member] = next }
            }
            try await Self.play(bed, rounds: max(2, Self.edits / 500)) { random in
                var random = random
                try await Task.sleep(for: .milliseconds(random.below(1_500)))
                let member = random.below(3)
                try await replace(member, Self.crash(&random), within: .zero)
                try await replace(member, [:], within: .milliseconds(500 + random.below(2_000)))
            } settle: {
                try await bed.settle(engine)
            }
            for (number, member) in members.quietly({ $0 }).enumerated() {
                let code = await member.stop()
                let log = (try? String(contentsOfFile: bed.folder + "/\(number).log", encoding: .utf8)) ?? ""
                #expect(code == 0, "\(log)")
            }
            let dead = try await Program.run(["fleet", "dead", "--json"] + engine)
            #expect(dead.output.isEmpty)
        }
    }
}
