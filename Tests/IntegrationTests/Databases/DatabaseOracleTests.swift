import BotState
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// Many databases, some of them busy, created, deleted and created again meanwhile, while the bot is killed again and
/// again. In the end, every document of every database was written exactly once, the totals are right, and a receiver
/// knows every note.
///
/// `CHANGEBOT_TEST_DATABASES` is the number of databases (default: 40), `CHANGEBOT_TEST_ROUNDS` that of rounds (default:
/// 6). Runs on the CouchDB that `CHANGEBOT_TEST_GATEWAY` names, or on the embedded gateway.
@Suite(.limitedParallelism(minutes: 60, isLong: true)) struct DatabaseOracleTests {
    private static func number(_ variable: String, _ otherwise: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? otherwise
    }

    private static let program: String = {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return ProcessInfo.processInfo.environment["CHANGEBOT_TEST_PROGRAM"]
            ?? tests.deletingLastPathComponent().appendingPathComponent("changebot").path
    }()

    /// What the databases must contain.
    private struct Expected {
        /// The number of tasks in each.
        var tasks: [String: Int] = [:]
        /// The content of the note in each: another one in each database, also if it was created again.
        var notes: [String: Int] = [:]
        var created = 0
    }

    private static func webhook(_ url: String) -> String {
        """

          - name: tell
            when: { type: note }
            then: [{ webhook: { url: "\(url)" } }]
        """
    }

    private func start(_ bed: DatabaseBed) throws -> ChildProcess {
        var environment: [String: String] = [:]
        if case .basic(let user, let password) = bed.settings.credentials {
            environment = ["CHANGEBOT_USER": user, "CHANGEBOT_PASSWORD": password]
        }
        return try ChildProcess(
            [
                Self.program, "run", "--gateway", "\(bed.url.base)/{database}", "--databases", bed.prefix + "*",
                "--rules", bed.directory + "/rules.yaml", "--state", bed.directory + "/state", "--log-level", "warning",
                "--on-reset", "restart",
            ], environment: environment, errors: bed.directory + "/log")
    }

    @Test func everyDocumentIsWrittenExactlyOnce() async throws {
        try await DatabaseBed.with { bed in
            let receiver = try TestReceiver()
            _ = try bed.ruleSet(DatabaseBed.rules + DatabaseBed.countingRule + Self.webhook(receiver.url))
            let count = Self.number("CHANGEBOT_TEST_DATABASES", 40)
            var expected = Expected()
            var random = SplitMix64(seed: UInt64(Self.number("CHANGEBOT_TEST_SEED", 1)))
            func fill(_ short: String) async throws {
                try await bed.put(short, "t0")
                try await bed.put(short, "note", #"{"type":"note","created":\#(expected.created)}"#)
                expected.tasks[short] = 1
                expected.notes[short] = expected.created
                expected.created += 1
            }
            func create() async throws {
                let short = "d\(expected.created)"
                try await bed.create(short)
                try await fill(short)
            }
            for _ in 0..<count { try await create() }
            var bot = try start(bed)
            for _ in 0..<Self.number("CHANGEBOT_TEST_ROUNDS", 6) {
                let busy = expected.tasks.keys.sorted().shuffled(using: &random).prefix(max(5, count / 20))
                for _ in 0..<4 {
                    for short in busy {
                        let next = expected.tasks[short] ?? 0
                        try await bed.put(short, "t\(next)")
                        expected.tasks[short] = next + 1
                    }
                }
                for short in expected.tasks.keys.sorted().shuffled(using: &random).prefix(max(1, count / 40)) {
                    try await bed.delete(bed.name(short))
                    (expected.tasks[short], expected.notes[short]) = (nil, nil)
                }
                // With plain numbers as sequences, a new database may look like the former one to a bot that was dead.
                for short in busy.prefix(2) where bed.embedded == nil && expected.tasks[short] != nil {
                    try await bed.recreate(short)
                    try await fill(short)
                }
                for _ in 0..<max(1, count / 40) { try await create() }
                // Kills it at any time of its work.
                try await Task.sleep(for: .milliseconds(Int.random(in: 50..<1_500, using: &random)))
                bot.kill()
                bot = try start(bed)
            }
            for (short, tasks) in expected.tasks.sorted(by: { $0.key < $1.key }) {
                for task in 0..<tasks {
                    try await bed.wait(short, "t\(task)")
                    let document = try #require(try await bed.gateway(short).document(DocumentID("t\(task)")))
                    #expect(document.root["_rev"]?.string?.hasPrefix("2-") == true, "\(short)/t\(task)")
                }
                try await bed.wait(short, "totals", for: "tasks", toBe: tasks)
                let note = try #require(expected.notes[short])
                func isTold(_ request: TestRequest) -> Bool {
                    (try? JSONText(request.body))?.root["data"]?["created"]?.integer == note
                }
                let deadline = ContinuousClock.now + .seconds(60)
                while !receiver.requests.contains(where: isTold) {
                    try #require(ContinuousClock.now < deadline, "the receiver was not told of the note of \(short)")
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(await bot.stop() == 0)
            let index = try #require(
                try DatabaseIndex.entries(in: bed.directory + "/state", named: "changebot"))
            for short in expected.tasks.keys {
                let entry = index[bed.name(short)]
                #expect(entry?.missingSince == nil && entry?.deadLetters == 0, "\(short)")
            }
        }
    }
}
