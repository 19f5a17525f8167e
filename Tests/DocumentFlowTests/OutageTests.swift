import DocumentFlow
import GatewayClient
import Locking
import Logging
import Testing

/// The log lines about a gateway that does not answer.
@Suite struct OutageTests {
    private static let refused = GatewayError(.cannotConnect, "refused")

    private final class Lines: Sendable {
        let all = Locked<[String]>([])

        var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        init(lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.all.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    private func retrier(_ settings: RetryPolicy.Settings, _ lines: Lines) -> Retrier {
        Retrier(
            RetryPolicy(settings, hasSucceeded: true), pauses: Pauses { _ in }, logger: lines.logger, noteRetry: {})
    }

    /// Regression: each writer logged each failure.
    @Test func outageOfSeveralWritersIsLoggedOnce() async throws {
        let lines = Lines()
        var settings = RetryPolicy.Settings()
        settings.isDaemon = true
        var writers = (0..<4).map { _ in retrier(settings, lines) }
        for _ in 0..<3 {
            for index in writers.indices { try await writers[index].wait(after: Self.refused, "a write failed") }
        }
        #expect(lines.all.withLock { $0 } == ["warning a write failed"])
        // A short outage is not logged.
        for index in writers.indices { writers[index].succeed() }
        #expect(lines.all.withLock { $0.count } == 1)
        try await writers[0].wait(after: Self.refused, "a write failed")
        #expect(lines.all.withLock { $0.count } == 2)
    }

    @Test func endIsLoggedOnceAndALongOutageAgain() {
        let lines = Lines()
        let outage = Outage()
        let start = ContinuousClock.now
        #expect(outage.note(Self.refused, now: start))
        #expect(!outage.note(Self.refused, now: start + .seconds(59)))
        #expect(outage.note(Self.refused, now: start + .seconds(60)))
        #expect(!outage.note(Self.refused, now: start + .seconds(61)))
        for _ in 0..<2 { outage.end(lines.logger, ifLongerThan: Outage.shortest, now: start + .seconds(70)) }
        #expect(lines.all.withLock { $0 } == ["notice reached the gateway again after 70 s"])
    }

    /// Each of these errors is logged, because it may concern a single document.
    @Test func gatewayErrorIsNotAnOutage() {
        let outage = Outage()
        for _ in 0..<3 { #expect(outage.note(GatewayError(.serverError, "no", status: 500))) }
    }

    /// Regression: a sign-in page, or a 401, in place of the gateway logged a warning every few seconds.
    @Test(arguments: [
        GatewayError(.malformedAnswer, "HTML"), GatewayError(.unauthorized, "no", status: 401),
        GatewayError(.serverError, "no", status: 500),
    ])
    func errorThatBlocksTheRunIsLoggedOncePerMinute(error: GatewayError) {
        let outage = Outage()
        let start = ContinuousClock.now
        #expect(outage.note(error, stopsAll: true, now: start))
        for second in [2, 10, 59] { #expect(!outage.note(error, stopsAll: true, now: start + .seconds(second))) }
        #expect(outage.note(error, stopsAll: true, now: start + .seconds(60)))
    }

    @Test func errorPageForAWriterJoinsTheOutageOfTheFeed() {
        let outage = Outage()
        let page = GatewayError(.malformedAnswer, "HTML")
        // A single document may be the cause.
        for _ in 0..<2 { #expect(outage.note(page)) }
        #expect(outage.note(page, stopsAll: true))
        #expect(!outage.note(page))
    }
}
