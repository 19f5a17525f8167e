internal import GatewayClient
package import Pipeline

/// What can be told of a run while it goes on and after it, whatever its end.
package actor RunReport {
    private let began = ContinuousClock.now
    private var progress: RunProgress?
    private var contactRetries = 0

    package init() {}

    func watch(_ progress: RunProgress) { self.progress = progress }

    func noteContactRetry() { contactRetries += 1 }

    package func counters() async -> RunCounters {
        var counters = await progress?.counters ?? RunCounters()
        counters.retries += contactRetries
        return counters
    }

    package func summary(exitCode: Int32) async -> RunSummary {
        RunSummary(
            counters: await counters(), lastSequence: await progress?.safeSequence,
            duration: began.duration(to: .now), exitCode: exitCode)
    }
}
