import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import Logging
import LosslessJSON
import ServiceLifecycle
import TestKit
import Testing

/// Gateways that accept the bot's mark but do not keep it: two databases behind one load balancer, a caching proxy.
///
/// Regression: `run --once` never ended, and a daemon started over 16 times a second.
@Suite(.limitedParallelism) struct UnreliableMarkTests {
    /// The answers of such a gateway.
    enum Mode: String, CaseIterable {
        /// A write is accepted, but reads find nothing.
        case lost
        /// Each read shows another mark.
        case random
        /// Each read shows what the previous read should have shown.
        case older
        /// Each read shows the first mark.
        case first
        /// Every second read finds nothing.
        case flip
        case writesFail, readsFail
        /// A proxy answers instead of the gateway.
        case readsUnavailable
    }

    private struct Memory {
        var reads = 0
        var shown: [String] = []
    }

    private func server(_ mode: Mode) throws -> ScriptedServer {
        let memory = Locked(Memory())
        let missing = ScriptedServer.Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
        let failure = ScriptedServer.Answer(status: 500, body: #"{"error":"internal_server_error","reason":"x"}"#)
        let overrule: @Sendable (TestRequest, ScriptedServer.Answer) -> ScriptedServer.Answer = { request, answer in
            guard request.method == "GET" else { return mode == .writesFail ? failure : answer }
            return memory.withLock { memory in
                memory.reads += 1
                if mode == .lost { return missing }
                if mode == .readsFail { return failure }
                if mode == .readsUnavailable { return ScriptedServer.Answer(status: 503, body: failure.body) }
                guard answer.status == 200 else { return answer }
                memory.shown.append(answer.body)
                switch mode {
                case .random:
                    let nonce = String(repeating: "\(memory.reads % 10)", count: 32)
                    let root = (try? JSONText(answer.body))?.root["identity"]?.string ?? "-"
                    return ScriptedServer.Answer(body: answer.body.replacingOccurrences(of: root, with: nonce))
                case .older: return ScriptedServer.Answer(body: memory.shown.suffix(2).first ?? answer.body)
                case .first: return ScriptedServer.Answer(body: memory.shown.first ?? answer.body)
                case .flip: return memory.reads.isMultiple(of: 2) ? answer : missing
                default: return answer
                }
            }
        }
        return try ScriptedServer(overrule: overrule) { request, _ in
            request.path == "/todo/_changes"
                ? ScriptedServer.feed([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2)
                : ScriptedServer.written(request)
        }
    }

    private func bot(
        _ server: ScriptedServer, _ directory: String, _ lines: Locked<[String]>,
        _ configure: (inout BotSettings) -> Void = { _ in }
    ) throws -> Bot {
        let ruleSet = try server.ruleSet(directory)
        var settings = BotSettings()
        settings.isOneShot = true
        configure(&settings)
        settings.delivery.retries.isDaemon = !settings.isOneShot
        return Bot(
            gateway: Gateway(try GatewayURL(server.server.url("/todo"))), ruleSet: ruleSet,
            state: try server.place(directory, ruleSet), settings: settings, report: RunReport(),
            logger: Logger(label: "test") { _ in LineHandler(lines: lines) })
    }

    @Test(arguments: Mode.allCases)
    func oneShotRunsWithoutAMarkReadNothingTwice(mode: Mode) async throws {
        try await withDirectory { directory in
            let server = try server(mode)
            let lines = Locked<[String]>([])
            for run in 1...3 {
                lines.withLock { $0 = [] }
                try await bot(server, directory, lines).run()
                let warnings = lines.withLock { $0.filter { $0.contains("does not keep the bot's mark") } }
                #expect(warnings.count <= 1, "run \(run)")
                if mode == .lost || mode == .random { #expect(warnings.count == 1, "run \(run)") }
                #expect(lines.withLock { $0.contains { $0.contains("starting over") } } == false, "run \(run)")
            }
            let feeds = server.requests("/todo/_changes")
            #expect(feeds.filter { $0.target.contains("since=0&") }.count == 1)
        }
    }

    @Test(arguments: [Mode.lost, .random])
    func daemonWithoutAMarkDoesNotRestartRepeatedly(mode: Mode) async throws {
        try await withDirectory { directory in
            let server = try server(mode)
            let lines = Locked<[String]>([])
            let bot = try bot(server, directory, lines) {
                $0.isOneShot = false
                $0.checkInterval = .milliseconds(10)
            }
            let group = ServiceGroup(services: [bot], logger: BotTestBed.logger)
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await group.run() }
                await server.wait(for: 6, of: "/todo/_changes")
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            let warnings = lines.withLock { $0.filter { $0.contains("does not keep the bot's mark") } }
            #expect(warnings.count == 1)
            let feeds = server.requests("/todo/_changes")
            #expect(feeds.filter { $0.target.contains("since=0&") }.count == 1)
        }
    }
}

/// Gateways that lose the bot's mark some time after it was written.
@Suite(.limitedParallelism) struct LostMarkTests {
    /// The answers of such a gateway.
    enum Mode: String, CaseIterable {
        /// The mark is dropped after a while, as by a cache.
        case vanishing
        /// The marks of two databases are shown in turn.
        case alternating
    }

    private struct Memory {
        var reads = 0
        var marks: [Int: String] = [:]

        /// The database that is shown now.
        func shown(_ mode: Mode) -> Int { mode == .alternating ? reads / 8 % 2 : 0 }
    }

    /// - Parameter instance: `instance_start_time`; nil: it is not reported.
    private func server(_ mode: Mode, instance: Locked<Int>? = nil) throws -> ScriptedServer {
        let memory = Locked(Memory())
        let missing = ScriptedServer.Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
        let overrule: @Sendable (TestRequest, ScriptedServer.Answer) -> ScriptedServer.Answer = { request, answer in
            memory.withLock { memory in
                guard request.method == "GET" else {
                    if mode == .vanishing { memory.reads = 0 }
                    let members = (try? JSONText(request.body))?.root.members.filter { $0.name.string != "_rev" } ?? []
                    let texts = members.map { String(decoding: request.body[$0.range], as: UTF8.self) }
                    memory.marks[memory.shown(mode)] = texts.joined(separator: ",")
                    return answer
                }
                memory.reads += 1
                if mode == .vanishing, memory.reads > 3 { memory.marks = [:] }
                let mark = memory.marks[memory.shown(mode)]
                return mark.map { ScriptedServer.Answer(body: #"{"_rev":"0-1",\#($0)}"#) } ?? missing
            }
        }
        return try ScriptedServer(
            information: instance.map { Self.information(instance: $0.withLock(\.self)) }, overrule: overrule
        ) { request, _ in
            request.path == "/todo/_changes"
                ? ScriptedServer.feed([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2)
                : ScriptedServer.written(request)
        }
    }

    private static func information(instance: Int) -> String {
        #"{"db_name":"todo","update_seq":1000,"state":"Online","instance_start_time":\#(instance)}"#
    }

    private func bot(
        _ server: ScriptedServer, _ directory: String, _ lines: Locked<[String]>, isOneShot: Bool,
        onReset: ResetPolicy? = nil
    ) throws -> Bot {
        let ruleSet = try server.ruleSet(directory)
        var settings = BotSettings()
        settings.isOneShot = isOneShot
        settings.onReset = onReset
        // A one-shot run checks the mark at its start and its end.
        if !isOneShot { settings.checkInterval = .milliseconds(10) }
        settings.delivery.retries.isDaemon = !isOneShot
        return Bot(
            gateway: Gateway(try GatewayURL(server.server.url("/todo"))), ruleSet: ruleSet,
            state: try server.place(directory, ruleSet), settings: settings, report: RunReport(),
            logger: Logger(label: "test") { _ in LineHandler(lines: lines) })
    }

    private func count(_ part: String, _ lines: Locked<[String]>) -> Int {
        lines.withLock { $0.count { $0.contains(part) } }
    }

    /// Stops the daemon once its log says that it continues without a mark.
    private func runUntilMarkIsGivenUp(_ bot: Bot, _ lines: Locked<[String]>) async throws {
        let group = ServiceGroup(services: [bot], logger: BotTestBed.logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            while count("does not keep the bot's mark", lines) == 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Regression: the bot read everything again once a minute, endlessly.
    @Test(arguments: Mode.allCases)
    func idleDaemonStartsOverOnceAndContinuesWithoutAMark(mode: Mode) async throws {
        try await withDirectory { directory in
            let server = try server(mode)
            let lines = Locked<[String]>([])
            try await runUntilMarkIsGivenUp(try bot(server, directory, lines, isOneShot: false), lines)
            #expect(count("starting over", lines) == 1)
            #expect(count("does not keep the bot's mark", lines) == 1)
        }
    }

    // MARK: - Bots that a reset ends

    /// Removes the mark.
    private func loseMark(_ server: ScriptedServer) async throws {
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        for _ in 1...4 { _ = try await gateway.localDocument("changebot.changebot") }
        await gateway.shutdown()
    }

    private func mark(_ request: TestRequest?) -> String? {
        request.flatMap { try? JSONText($0.body) }?.root["identity"]?.string
    }

    /// Regression: the first lost mark ended the bot, as if the database had been reset.
    @Test func lostMarkOfUnchangedDatabaseIsWrittenAgain() async throws {
        try await withDirectory { directory in
            let server = try server(.vanishing, instance: Locked(1))
            let lines = Locked<[String]>([])
            for _ in 1...3 {
                try await bot(server, directory, lines, isOneShot: true, onReset: .stop).run()
                try await loseMark(server)
            }
            #expect(count("wrote it again", lines) == 2)
            #expect(server.requests("/todo/_changes").count { $0.target.contains("since=0&") } == 1)
            // The ids of events depend on it.
            let writes = server.requests("/todo/_local/changebot.changebot").filter { $0.method == "PUT" }
            #expect(Set(writes.map(mark)).count == 1)
        }
    }

    /// Other signs of a reset can't be seen.
    @Test(arguments: [nil, 0])
    func lostMarkWithoutAStartTimeEndsTheBot(instance: Int?) async throws {
        try await expectReset(of: try server(.vanishing, instance: instance.map { Locked($0) })) {}
    }

    @Test func lostMarkAndAnotherStartTimeEndTheBot() async throws {
        let instance = Locked(1)
        try await expectReset(of: try server(.vanishing, instance: instance)) { instance.withLock { $0 = 2 } }
    }

    private func expectReset(of server: ScriptedServer, after change: () -> Void) async throws {
        try await withDirectory { directory in
            let lines = Locked<[String]>([])
            func run() async throws {
                try await bot(server, directory, lines, isOneShot: true, onReset: .stop).run()
            }
            try await run()
            try await loseMark(server)
            change()
            #expect(await #expect(throws: RunError.self) { try await run() }?.code == .databaseReset)
        }
    }

    /// Regression: the bot ended although it had found its mark again.
    @Test func markThatReappearsIsNoReset() async throws {
        try await withDirectory { directory in
            let (hidden, instance) = (Locked(0), Locked(1))
            let missing = ScriptedServer.Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
            let server = try ScriptedServer(
                information: Self.information(instance: instance.withLock(\.self)),
                overrule: { request, answer in
                    hidden.withLock { hidden in
                        guard request.method == "GET", hidden > 0 else { return answer }
                        hidden -= 1
                        return missing
                    }
                }
            ) { request, _ in
                request.path == "/todo/_changes"
                    ? ScriptedServer.feed([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2)
                    : ScriptedServer.written(request)
            }
            let lines = Locked<[String]>([])
            try await bot(server, directory, lines, isOneShot: true, onReset: .stop).run()
            // As many as prove a reset, after a restart of the gateway.
            hidden.withLock { $0 = 3 }
            instance.withLock { $0 = 2 }
            try await bot(server, directory, lines, isOneShot: true, onReset: .stop).run()
            #expect(hidden.withLock(\.self) == 0)
            #expect(server.requests("/todo/_changes").count { $0.target.contains("since=0&") } == 1)
        }
    }

    @Test func daemonContinuesWithoutAMarkThatIsLostRepeatedly() async throws {
        try await withDirectory { directory in
            let server = try server(.vanishing, instance: Locked(1))
            let lines = Locked<[String]>([])
            try await runUntilMarkIsGivenUp(try bot(server, directory, lines, isOneShot: false, onReset: .stop), lines)
            #expect(count("wrote it again", lines) == 1)
            #expect(count("does not keep the bot's mark", lines) == 1)
            #expect(server.requests("/todo/_changes").count { $0.target.contains("since=0&") } == 1)
        }
    }

    // MARK: - Later runs

    /// Regression: each run read everything again.
    @Test func laterRunsDoNotStartOverAgain() async throws {
        try await withDirectory { directory in
            let server = try server(.vanishing)
            let lines = Locked<[String]>([])
            for _ in 1...6 {
                try await bot(server, directory, lines, isOneShot: true).run()
                // The mark vanishes between two runs.
                try await loseMark(server)
            }
            #expect(count("starting over", lines) == 1)
            #expect(server.requests("/todo/_changes").count { $0.target.contains("since=0&") } == 2)
        }
    }
}

/// Records messages.
private struct LineHandler: LogHandler {
    let lines: Locked<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.withLock { $0.append(event.message.description) } }
}
