import DocumentFlow
import GatewayClient
import Locking
import Logging
import Monitoring
import TestKit
import Testing

@testable import changebot

/// The watchdog is fed while the bots are alive, but not if one hangs.
@Suite(.limitedParallelism) struct WatchdogTests {
    private static let interval: Duration = .milliseconds(20)

    private static func bot(
        _ liveness: Liveness,
        facts: @escaping @Sendable () async -> RunFacts = {
            var facts = RunFacts()
            facts.phase = .following
            return facts
        }
    ) -> MonitoredBot {
        MonitoredBot(
            BotDescription(
                name: "bot", gateway: "http://127.0.0.1:4984/todo", stateOptions: nil,
                rules: RuleSetDescription(hash: "", names: [], paths: [])),
            source: .init(facts: facts, deadLetters: { nil }), registry: nil, liveness: liveness)
    }

    /// The messages while a process with this bot is watched.
    private func whileFeeding(
        _ bot: MonitoredBot, _ body: @escaping @Sendable (DatagramListener) async throws -> Void
    ) async throws {
        let listener = try DatagramListener("@changebot-watchdog-\(UInt64.random(in: 0...UInt64.max))")
        let notifier = try #require(
            ServiceNotifier(["NOTIFY_SOCKET": listener.name, "WATCHDOG_USEC": "\(Self.interval.microseconds)"]))
        let process = MonitoredProcess(version: "1")
        process.show(bot)
        try await Watchdog.whileFeeding(notifier, process, Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }) {
            try await body(listener)
        }
    }

    @Test func liveBotFeedsTheWatchdog() async throws {
        try await whileFeeding(Self.bot(Liveness(maxFeedTime: .seconds(60)))) { listener in
            for _ in 1...5 { #expect(await listener.next() == "WATCHDOG=1") }
        }
    }

    @Test func silentBotDoesNotFeedTheWatchdog() async throws {
        let liveness = Liveness(maxFeedTime: .milliseconds(1), now: .now - .seconds(1))
        let looks = EventCounter()
        let bot = Self.bot(liveness) {
            looks.increment()
            var facts = RunFacts()
            facts.phase = .following
            return facts
        }
        try await whileFeeding(bot) { listener in
            // When the fifth look begins, four have ended.
            await looks.wait(for: 5)
            #expect(listener.rest().isEmpty)
            liveness.note(.retried(.unavailable, wait: .seconds(60)))
            #expect(await listener.next() == "WATCHDOG=1")
        }
    }

    @Test func blockedBotDoesNotFeedTheWatchdog() async throws {
        let (isReleased, looks) = (Signal(), EventCounter())
        let bot = Self.bot(Liveness(maxFeedTime: .seconds(60))) {
            looks.increment()
            try? await isReleased.wait()
            return RunFacts()
        }
        try await whileFeeding(bot) { listener in
            await looks.wait(for: 1)
            #expect(listener.rest().isEmpty)
            isReleased.raise()
            #expect(await listener.next() == "WATCHDOG=1")
        }
    }
}
