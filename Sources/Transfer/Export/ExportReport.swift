package import DocumentFlow
package import GatewayClient
internal import Locking

/// What can be told of an export while it goes on and after it, whatever its end.
package final class ExportReport: Sendable {
    package struct State: Sendable {
        package var counters = RunCounters()
        /// How many documents there are, if the gateway tells.
        package var expected: Int?
        /// Where the next export begins.
        package var lastSequence: SequenceID?
        /// Asked to stop before the end.
        package var isStopped = false
        /// Documents that an earlier run has written.
        package var resumedAt = 0
    }

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    package init() {}

    package var state: State { locked.withLock { $0 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }

    func count(_ change: (inout RunCounters) -> Void) { locked.withLock { change(&$0.counters) } }

    package func summary(exitCode: Int32) -> RunSummary {
        let state = state
        return RunSummary(
            counters: state.counters, lastSequence: state.lastSequence, duration: began.duration(to: .now),
            exitCode: exitCode)
    }
}
