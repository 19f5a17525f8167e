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

/// Gateways that accept the bot's mark and do not keep it: two databases behind one load balancer, a caching proxy.
///
/// `run --once` never ended, and a daemon started over 16 times a second.
@Suite(.limitedParallelism) struct UnkeptMarkTests {
    /// What such a gateway answers.
    enum Mode: String, CaseIterable {
        /// A write is accepted, and nothing is read.
        case lost
        /// Each read shows another mark.
        case random
        /// Each read shows what the read before would have shown.
        case older
        /// Each read shows the first mark.
        case first
        /// Each second read shows nothing.
        case flip
        case writesFail, readsFail
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

/// Keeps messages.
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
