import BotState
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import HTTPTransport
import Logging
import LosslessJSON
import Rules
import ServiceLifecycle
import TestKit
import Testing

@testable import Bots
@testable import GatewayClient

/// A server with several databases, whose names begin with ``prefix``, and a bot that follows them.
///
/// It is the CouchDB that the environment names, or else an embedded gateway.
struct DatabaseBed {
    /// The server, with a placeholder for the database.
    let url: GatewayURL
    let settings: GatewaySettings
    /// Nil on a real server.
    let embedded: EmbeddedGateway?
    let prefix: String
    let directory: String
    let client = HTTPClient()
    let server: Gateway

    static let rules = """
        version: 1
        rules:
          - name: mark
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: false } }]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
          - name: later
            at: { jq: .due }
            when: { type: timer, late: { $exists: false } }
            then: [{ merge: { late: true } }]
        """

    /// To be added to ``rules``.
    static let countingRule = """

          - name: totals
            when: { type: task }
            then: [{ aggregate: { into: totals, document: { type: totals }, count: { tasks: true } } }]
        """

    static func with(_ body: @Sendable (DatabaseBed) async throws -> Void) async throws {
        try await withDirectory { directory in
            if try await RealServer.isCouchDB(), let real = try RealServer.fromEnvironment() {
                let bed = DatabaseBed(real.url, real.settings, nil, directory)
                try await bed.cleaningUp(body)
                return
            }
            var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: BotTestBed.logger)
            configuration.hostsFurtherDatabases = true
            let embedded = EmbeddedGateway(configuration)
            let url = try GatewayURL(try await embedded.start().url)
            do { try await DatabaseBed(url, GatewaySettings(), embedded, directory).cleaningUp(body) } catch {
                await embedded.stop()
                throw error
            }
            await embedded.stop()
        }
    }

    private init(
        _ url: GatewayURL, _ settings: GatewaySettings, _ embedded: EmbeddedGateway?, _ directory: String
    ) {
        self.url = url
        (self.settings, self.embedded, self.directory) = (settings, embedded, directory)
        prefix = "cb\(UUID().uuidString.lowercased().prefix(8))-"
        server = Gateway(url, settings: settings)
    }

    private func cleaningUp(_ body: @Sendable (DatabaseBed) async throws -> Void) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await body(self)) } catch { result = .failure(error) }
        if embedded == nil {
            for name in (try? await server.databaseNames()) ?? [] where name.hasPrefix(prefix) {
                try? await delete(name)
            }
        }
        await server.shutdown()
        await client.shutdown()
        try result.get()
    }

    // MARK: - Databases and documents

    func name(_ short: String) -> String { prefix + short }

    func create(_ short: String) async throws { _ = try await ask("PUT", name(short)) }

    func delete(_ name: String) async throws { _ = try await ask("DELETE", name) }

    /// Deletes a database and creates it again at once. CouchDB needs a moment until it can be used.
    func recreate(_ short: String) async throws {
        let former = try await creation(short)
        repeat {
            try await delete(name(short))
            while try await ask("PUT", name(short)) >= 300 { try await Task.sleep(for: .milliseconds(20)) }
            while try await ask("GET", name(short)) != 200 { try await Task.sleep(for: .milliseconds(20)) }
            // CouchDB tells databases of one name apart by the second of their creation.
        } while try await creation(short) == former
    }

    private func creation(_ short: String) async throws -> String? {
        try await server.databaseInfos(of: [name(short)])[name(short)]?.creation
    }

    @discardableResult
    private func ask(_ method: String, _ name: String) async throws -> Int {
        var credentials: HTTPCredentials?
        if case .basic(let user, let password) = settings.credentials {
            credentials = .basic(user: user, password: password)
        }
        let response = try await client.send(
            HTTPRequest(
                method: method, url: "\(url.base)/\(name)/", headers: [], credentials: credentials,
                deadline: .seconds(60)))
        _ = try await response.body.collect(upTo: 1 << 16)
        return response.status
    }

    func gateway(_ short: String) throws -> Gateway { server.sibling(try KeyspaceName(name(short))) }

    func put(_ short: String, _ id: String, _ body: String = #"{"type":"task"}"#) async throws {
        try await gateway(short).put(DocumentID(id), body: Array(body.utf8))
    }

    /// Returns once a document has a member.
    ///
    /// - Parameter value: The value that it must have. Nil: any.
    func wait(
        _ short: String, _ id: String = "t1", for member: String = "done", toBe value: Int? = nil
    ) async throws {
        let gateway = try gateway(short)
        var since = SequenceID.start
        while true {
            let found = try await gateway.document(DocumentID(id))?.root[member]
            if let found, value == nil || found.integer == value { return }
            var answer = try await gateway.changes(ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(20))))
            while try await answer.next() != nil {}
            since = answer.lastSequence ?? since
        }
    }

    /// The number of requests to a database so far, on the embedded gateway.
    func requests(_ short: String) -> Int { embedded?.requestCounts[name(short)] ?? 0 }

    // MARK: - Bots

    func ruleSet(_ text: String = rules) throws -> RuleSet {
        let path = directory + "/rules.yaml"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return try RuleSet.load(paths: [path])
    }

    /// A bot for all databases of this test.
    func group(
        once: Bool, patterns: [String]? = nil, rules: String = rules,
        configure: (inout DatabaseGroup.Settings, inout BotSettings) -> Void = { _, _ in }
    ) throws -> (group: DatabaseGroup, report: RunReport) {
        let ruleSet = try ruleSet(rules)
        var settings = DatabaseGroup.Settings()
        settings.session.linger = .milliseconds(100)
        settings.watch.poll = .milliseconds(100)
        settings.watch.announcements = .milliseconds(20)
        var bot = BotSettings()
        bot.isOneShot = once
        bot.delivery.retries.isDaemon = !once
        configure(&settings, &bot)
        let report = RunReport()
        let directory = directory
        let selected = try DatabasePatterns(patterns ?? [prefix + "*"])
        let group = DatabaseGroup(
            directory: server.directory(for: selected), patterns: selected,
            ruleSet: ruleSet, index: try DatabaseIndex(directory: directory, name: "bot"), bot: bot,
            settings: settings, report: report, logger: BotTestBed.logger
        ) { name, address in
            let folder = DatabaseIndex.folder(in: directory, named: "bot", of: name)
            return DatabaseGroup.Place(
                state: StatePlace(
                    StateCatalogue(directory: folder, name: "bot"), address: address, ruleSetHash: ruleSet.hash,
                    purpose: .run), passes: nil, options: nil)
        }
        return (group, report)
    }

    /// Runs to the end, as with `--once`.
    @discardableResult
    func runOnce(patterns: [String]? = nil) async throws -> RunCounters {
        let (group, report) = try group(once: true, patterns: patterns)
        defer { group.index.close() }
        try await group.run()
        return await report.counters()
    }

    /// Follows the databases while `body` runs, then stops gracefully.
    @discardableResult
    func following(
        patterns: [String]? = nil, rules: String = rules,
        configure: (inout DatabaseGroup.Settings, inout BotSettings) -> Void = { _, _ in },
        _ body: @Sendable @escaping (RunReport) async throws -> Void
    ) async throws -> RunCounters {
        let (group, report) = try group(once: false, patterns: patterns, rules: rules, configure: configure)
        defer { group.index.close() }
        let service = ServiceGroup(services: [group], logger: BotTestBed.logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await service.run() }
            do { try await body(report) } catch {
                await service.triggerGracefulShutdown()
                throw error
            }
            await service.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        return await report.counters()
    }

    /// What the index knows of a database.
    func entry(_ short: String) throws -> DatabaseIndex.Entry? {
        let index = try DatabaseIndex(inMemoryFor: directory, name: "bot", copying: true)
        defer { index.close() }
        return try index.all()[name(short)]
    }

    /// Returns once the bot knows that a database is gone.
    func waitUntilMissing(_ short: String) async throws {
        while try entry(short)?.missingSince == nil { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Returns once no database is worked on.
    func waitUntilQuiet(_ group: RunReport) async throws {
        while await !group.hasNoOpenDatabase { try await Task.sleep(for: .milliseconds(20)) }
    }
}
