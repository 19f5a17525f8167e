import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import Rules
import TestKit
import Testing

/// Bots on an embedded gateway, with a proxy between them that records a ``Trace``.
struct TraceTestBed {
    /// Connects to the gateway directly, so that a phone's requests are not in the trace.
    let direct: BotTestBed
    /// Its bots connect through the proxy.
    let traced: BotTestBed
    let trace: Trace
    let gate: FeedGate
    /// Called before a request to the gateway is forwarded.
    let before: Locked<(@Sendable (TestRequest) -> Void)?>
    private let proxy: RecordingProxy

    /// - Parameters:
    ///   - keepsConflicts: Whether the database keeps several leaves of a document.
    ///   - isShared: Whether the bots share the work of a fleet.
    static func with(
        keepsConflicts: Bool = false, isShared: Bool = false, _ body: (TraceTestBed) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: BotTestBed.logger)
            configuration.allowsConflicts = keepsConflicts
            try await BotTestBed.serve(configuration, in: directory) { bed in
                let traced = try TraceTestBed(bed, Trace(isShared: isShared))
                try await body(traced)
                await traced.traced.phone.shutdown()
            }
        }
    }

    private init(_ bed: BotTestBed, _ trace: Trace) throws {
        let gate = FeedGate()
        let before = Locked<(@Sendable (TestRequest) -> Void)?>(nil)
        let url = try #require(URL(string: bed.url.description))
        proxy = try RecordingProxy(to: try #require(url.port)) { request in
            gate.pass(request)
            before.withLock { $0 }?(request)
        } record: { exchange in
            gate.note(exchange)
            trace.add(exchange)
        }
        direct = bed
        traced = BotTestBed(
            url: try GatewayURL("http://127.0.0.1:\(proxy.port)\(url.path)"), settings: bed.settings,
            directory: bed.directory)
        (self.trace, self.gate, self.before) = (trace, gate, before)
    }

    /// Settings that make the order of steps the same in each run.
    static func steady(_ settings: inout BotSettings) {
        settings.delivery.capacity.writers = 1
        settings.delivery.intervals.checkpoint = .seconds(3600)
        settings.delivery.intervals.followingCheckpoint = .seconds(3600)
        settings.delivery.intervals.catchUpTotals = .seconds(3600)
        settings.delivery.now = { SetClock().now }
        settings.fleet.usesEngineTime = false
    }

    /// Calls `body` and records the transactions and lines of the bots that it creates.
    func observing<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let trace = trace
        return try await DurableStep.$observer.withValue({ trace.add($0) }, operation: body)
    }

    /// A `--once` run. There must have been a first run on the empty database.
    ///
    /// - Parameter fromStart: Whether to also record the steps before the first request for changes or documents.
    func runOnce(
        _ title: String, _ rules: RuleSet, fromStart: Bool = false, configure: (inout BotSettings) -> Void = { _ in }
    ) async throws {
        trace.begin(title, fromStart: fromStart)
        try await observing {
            _ = try await traced.runOnce(rules) { settings in
                Self.steady(&settings)
                configure(&settings)
            }
        }
        trace.end()
    }

    /// Compares the trace of a run that finds these documents with the golden file.
    ///
    /// - Parameter prepare: Called before the first run, which is not recorded because it finds nothing to do.
    func expect(
        _ name: String, rules yaml: String, _ documents: [(id: DocumentID, body: String)],
        configure: (inout BotSettings) -> Void = { _ in }
    ) async throws {
        let rules = try await start(yaml, configure: configure)
        try await direct.load(documents)
        try await runOnce("a change", rules, configure: configure)
        try GoldenFile(name: name).expect(trace.text)
    }

    /// Runs once on the database as it is, without a trace.
    func start(_ yaml: String, configure: (inout BotSettings) -> Void = { _ in }) async throws -> RuleSet {
        let rules = try traced.rules(yaml)
        try await traced.runOnce(rules) { settings in
            Self.steady(&settings)
            configure(&settings)
        }
        return rules
    }

    /// A receiver whose requests are in the trace.
    ///
    /// - Parameter hold: Called before a request is answered. May block.
    func receiver(
        _ reply: @escaping @Sendable (TestRequest, Int) -> TestReceiver.Reply = { _, _ in .answer(204) },
        hold: @escaping @Sendable () -> Void = {}
    ) throws -> TestReceiver {
        try TestReceiver { [trace] request, number in
            let answer = reply(request, number)
            if case .answer(let status, _, _) = answer { trace.add(request, status: status) }
            hold()
            return answer
        }
    }
}

/// Holds back the changes of the feed until a test opens it.
final class FeedGate: Sendable {
    private enum State { case open, untilChanges, closed }

    private let state = Monitor(State.open)

    /// Lets the feed return its pending changes, and closes after the first answer with changes.
    func openForOne() { state.with { $0 = .untilChanges } }

    func open() { state.with { $0 = .open } }

    func pass(_ request: TestRequest) {
        if request.path.hasSuffix("/_changes") { state.block { $0 != .closed } }
    }

    func note(_ exchange: RecordingProxy.Exchange) {
        guard exchange.request.path.hasSuffix("/_changes"),
            String(decoding: exchange.body, as: UTF8.self).contains(#""changes""#)
        else { return }
        state.with { if $0 == .untilChanges { $0 = .closed } }
    }

    /// Returns once the feed has returned the change for which it was opened.
    func waitUntilClosed() async { await state.wait { $0 == .closed } }
}

extension TraceTestBed {
    /// Calls `body` while the first request for this path waits.
    func beforeFirst(_ path: String, _ body: @escaping @Sendable () async -> Void) {
        before.withLock { before in
            before = { [self] request in
                guard request.path.hasSuffix("/" + path) else { return }
                self.before.withLock { $0 = nil }
                let isDone = Monitor(false)
                Task {
                    await body()
                    isDone.with { $0 = true }
                }
                isDone.block { $0 }
            }
        }
    }
}
