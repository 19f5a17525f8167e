package import DocumentFlow
internal import GatewayClient
internal import Pipeline

/// What can be told of a run while it goes on and after it, whatever its end.
package actor RunReport {
    private let began = ContinuousClock.now
    private var progress: RunProgress?
    private var hasSequence = true
    private var contactRetries = 0
    /// How many documents a full pass will read, if the gateway tells.
    package private(set) var expectedDocuments: Int?

    package init() {}

    /// - Parameter hasSequence: Whether the run follows a feed, and so gets somewhere in it.
    func watch(_ progress: RunProgress, hasSequence: Bool = true) {
        self.progress = progress
        self.hasSequence = hasSequence
    }

    func expect(documents: Int?) { expectedDocuments = documents }

    func noteContactRetry() { contactRetries += 1 }

    /// What the deliveries of this run have done; the next one counts on from there.
    func deliveredSoFar() async -> RunCounters { await progress?.counters ?? RunCounters() }

    package func counters() async -> RunCounters {
        var counters = await deliveredSoFar()
        counters.retries += contactRetries
        return counters
    }

    package func summary(exitCode: Int32, isDryRun: Bool = false) async -> RunSummary {
        RunSummary(
            counters: await counters(), lastSequence: hasSequence ? await progress?.safeSequence : nil,
            duration: began.duration(to: .now), exitCode: exitCode, isDryRun: isDryRun)
    }
}
