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

extension ExportReport: TransferReport {
    package var counters: RunCounters { state.counters }

    package var failures: Failures {
        let counters = state.counters
        return Failures(.notExported, counters.deadLetters, of: max(counters.matched, counters.deadLetters))
    }

    package func shortfall(isLogged: Bool) -> String {
        "\(failures); \(isLogged ? "" : "without --quiet ")the log names the first \(RepeatedMessages.limit), "
            + "with --log-level debug all"
    }

    package var standing: TransferStanding {
        let state = state
        return TransferStanding(
            documents: state.counters.changes + state.resumedAt, expected: state.expected,
            bytes: state.counters.bytesOut)
    }

    package func summary(exitCode: Int32) -> [UInt8] { summary(exitCode: exitCode).json }
}
