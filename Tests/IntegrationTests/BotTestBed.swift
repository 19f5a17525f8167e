import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import Logging
import LosslessJSON
import Rules
import ServiceLifecycle
import TestKit
import Testing

/// A gateway, a state directory and rule files for one test. All are deleted afterwards.
struct BotTestBed {
    let url: GatewayURL
    /// The bots' gateway settings.
    var settings: GatewaySettings
    /// The client that a phone would use.
    let phone: Gateway
    let directory: String

    static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    /// The rules for the three pictures, as the project ships them.
    static var shippedRules: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("rules/attach-images.yaml").path
    }

    static func asset(_ name: String) -> [UInt8] {
        let rules = URL(fileURLWithPath: shippedRules).deletingLastPathComponent().deletingLastPathComponent()
        return Array(
            FileManager.default.contents(atPath: rules.appendingPathComponent("assets/\(name)").path) ?? Data())
    }

    /// Uses the server that the environment names, or else an embedded gateway.
    ///
    /// - Parameter countsRevisions: Whether the test needs documents without a past, not even tombstones. If no
    ///   database can be made for the test alone, it then runs on the embedded gateway.
    static func with(countsRevisions: Bool = false, _ body: (BotTestBed) async throws -> Void) async throws {
        try await withDirectory { directory in
            if let server = try RealServer.fromEnvironment() {
                let run: (GatewayURL) async throws -> Void = { url in
                    let bed = BotTestBed(url: url, settings: server.settings, directory: directory)
                    try await body(bed)
                    await bed.phone.shutdown()
                }
                guard countsRevisions else { return try await server.withKeyspace(run) }
                if try await server.withDatabase(run) { return }
            }
            let configuration = EmbeddedGateway.Configuration(storage: .memory, logger: logger)
            try await serve(configuration, in: directory, body)
        }
    }

    /// Runs `body` on an embedded gateway, then stops the gateway.
    ///
    /// - Parameter keyspace: Nil: the keyspace of its URL.
    static func serve(
        _ configuration: EmbeddedGateway.Configuration, keyspace: KeyspaceName? = nil, in directory: String,
        _ body: (BotTestBed) async throws -> Void
    ) async throws {
        let embedded = EmbeddedGateway(configuration)
        let url = try GatewayURL(try await embedded.start().url)
        let bed = BotTestBed(
            url: keyspace.map(url.sibling) ?? url, settings: GatewaySettings(), directory: directory)
        do { try await body(bed) } catch {
            // Closes connections first, because the gateway waits for open ones when it stops.
            await bed.phone.shutdown()
            await embedded.stop()
            throw error
        }
        await bed.phone.shutdown()
        await embedded.stop()
    }

    init(url: GatewayURL, settings: GatewaySettings, directory: String) {
        self.url = url
        self.settings = settings
        self.directory = directory
        // Longer deadlines: a machine that runs many tests may be slow, and no test here is about the phone's
        // deadlines.
        var patient = settings
        (patient.deadlines.longpollGrace, patient.deadlines.silence) = (.seconds(120), .seconds(300))
        phone = Gateway(url, settings: patient)
    }

    /// The test's own rules. Next to them is a file `picture.png` that they may attach.
    func rules(_ yaml: String) throws -> RuleSet {
        try Data(repeating: 0x50, count: 1000).write(to: URL(fileURLWithPath: directory + "/picture.png"))
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
        return try RuleSet.load(paths: [directory + "/rules.yaml"])
    }

    func bot(
        _ ruleSet: RuleSet? = nil, state: String = "state", once: Bool = true,
        configure: (inout BotSettings) -> Void = { _ in }
    ) throws -> (bot: Bot, report: RunReport) {
        let ruleSet = try ruleSet ?? RuleSet.load(paths: [Self.shippedRules])
        var settings = BotSettings()
        settings.isOneShot = once
        settings.delivery.retries.isDaemon = !once
        configure(&settings)
        let report = RunReport()
        let bot = Bot(
            gateway: Gateway(url, settings: self.settings), ruleSet: ruleSet,
            state: try place(ruleSet, state, isDryRun: settings.delivery.preview != nil), settings: settings,
            report: report, logger: Self.logger)
        return (bot, report)
    }

    /// The place of a run's state.
    func place(_ ruleSet: RuleSet, _ state: String, isDryRun: Bool = false) throws -> StatePlace {
        let folder = directory + "/" + state
        return StatePlace(
            StateCatalogue(directory: folder, name: "bot", engine: try TestEngine.instead(of: folder)),
            address: url.description,
            ruleSetHash: ruleSet.hash, purpose: isDryRun ? .preview : .run)
    }

    /// The state after a run.

    func ledger(_ ruleSet: RuleSet, state: String = "state") throws -> Ledger {
        try Ledger.open(directory: directory + "/" + state, gateway: url.description, ruleSetHash: ruleSet.hash)
    }

    func deadLetters(_ ruleSet: RuleSet, state: String = "state") throws -> [DeadLetter] {
        let ledger = try ledger(ruleSet, state: state)
        // In an engine, an open state would block other bots.
        defer { ledger.close() }
        return try ledger.deadLetters()
    }

    /// Runs once, as with `--once`, and returns the counters.
    @discardableResult
    func runOnce(
        _ ruleSet: RuleSet? = nil, state: String = "state", configure: (inout BotSettings) -> Void = { _ in }
    ) async throws -> RunCounters {
        let (bot, report) = try bot(ruleSet, state: state, configure: configure)
        try await bot.run()
        return await report.counters()
    }

    /// Makes one full pass, and returns the counters.
    @discardableResult
    func fix(
        _ ruleSet: RuleSet, state: String = "fix", mode: Mode = .pass,
        configure: (inout Delivery.Settings) -> Void = { _ in }
    ) async throws -> RunCounters {
        var settings = Delivery.Settings()
        settings.now = { 1_795_168_800 }
        configure(&settings)
        let report = RunReport()
        let fixer = Fixer(
            gateway: Gateway(url, settings: self.settings), ruleSet: ruleSet,
            state: try place(ruleSet, state, isDryRun: settings.preview != nil),
            name: mode.onlyLearns ? BotSettings().name : "fix-changebot", mode: mode,
            settings: settings, report: report, logger: Self.logger)
        try await fixer.run()
        return await report.counters()
    }

    /// Passes over all documents that run next to the feed of a bot with these rule files.
    func passes(_ files: [String], catchesUp: Bool = false) throws -> PassSettings {
        let paths = files.indices.map { "\(directory)/passes-\($0).yaml" }
        for (path, text) in zip(paths, files) { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        let folder = directory + "/fix"
        let catalogue = StateCatalogue(
            directory: folder, name: "fix-bot", engine: try TestEngine.instead(of: folder))
        return PassSettings(
            rules: try RuleFileSet.load(paths: paths),
            state: StatePlace(catalogue, address: url.description, ruleSetHash: "", purpose: .run),
            stateOptions: nil, catchesUp: catchesUp)
    }

    /// The dry run of a full pass, with one line for each document.
    func preview(_ ruleSet: RuleSet, state: String = "fix") async throws -> [String] {
        let shown = Locked<[String]>([])
        try await fix(ruleSet, state: state) { settings in
            settings.preview = Preview { report in
                let line = String(decoding: report.line(withRevision: true), as: UTF8.self)
                shown.withLock { $0.append(line) }
            }
        }
        return shown.withLock { $0 }
    }

    /// Runs a bot that follows the feed while `body` runs; then stops it gracefully.
    @discardableResult
    func following(
        _ ruleSet: RuleSet? = nil, state: String = "state", configure: (inout BotSettings) -> Void = { _ in },
        _ body: @Sendable @escaping () async throws -> Void
    ) async throws -> RunCounters {
        let (bot, report) = try bot(ruleSet, state: state, once: false, configure: configure)
        let group = ServiceGroup(services: [bot], logger: Self.logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            do { try await body() } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        return await report.counters()
    }

    /// Writes documents; fails if one is not accepted.
    func load(_ documents: [(id: DocumentID, body: String)]) async throws {
        for start in stride(from: 0, to: documents.count, by: 1000) {
            let part = documents[start..<min(start + 1000, documents.count)]
            let outcomes = try await phone.bulkDocs(
                part.map { BulkDocument(id: $0.id, segments: [Array($0.body.utf8)]) })
            for outcome in outcomes {
                guard case .written = outcome else {
                    Issue.record("not loaded: \(outcome)")
                    return
                }
            }
        }
    }

    /// A document as it is stored now, with its members in their order.
    func stored(_ id: DocumentID) async throws -> JSONText? {
        guard case .found(_, let document) = try await phone.allDocs(keys: [id]).first else { return nil }
        return document
    }

    /// Returns once the document has the wanted content. It is read again at each change of the feed.
    func wait(until id: DocumentID, _ isReady: (JSONValue) -> Bool) async throws {
        try await wait(until: [id], isReady)
    }

    /// Waits for several documents. They need not be ready at the same time.
    func wait(until ids: some Sequence<DocumentID>, _ isReady: (JSONValue) -> Bool) async throws {
        var missing = Set(ids)
        var since = SequenceID.start
        while !missing.isEmpty {
            var answer = try await phone.changes(ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(30))))
            while let batch = try await answer.next() {
                for change in batch where missing.contains(change.id) {
                    if let document = change.document, isReady(document) { missing.remove(change.id) }
                }
            }
            since = answer.lastSequence ?? since
        }
    }
}

/// A task in the shape of the to-do app.
func task(_ id: String, _ name: String) -> (id: DocumentID, body: String) {
    (
        DocumentID(id),
        #"{"_id":"\#(id)","type":"task","task":"\#(name)","complete":false,"createdAt":"2026-11-20T10:00:00Z","taskList":{"id":"amy.x","owner":"amy"}}"#
    )
}
