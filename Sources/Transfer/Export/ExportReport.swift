package import DocumentFlow
package import GatewayClient
internal import Locking

/// The progress and the result of an export, successful or not. Safe to read from any thread.
package final class ExportReport: Sendable {
    /// A snapshot of the export.
    package struct State: Sendable {
        /// Counts of this run. Only `deadLetters` includes the runs that it resumes.
        package var counters = RunCounters()
        /// How many documents the keyspace has; nil if the gateway does not say or the feed is read.
        package var expected: Int?
        /// Where an incremental export after this one starts; nil if not known.
        package var lastSequence: SequenceID?
        /// Whether the run was asked to stop before the end.
        package var isStopped = false
        /// Documents that earlier, interrupted runs have written.
        package var resumedAt = 0
    }

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    /// Starts the clock for the summary's `seconds`.
    package init() {}

    /// A copy of the current state.
    package var state: State { locked.withLock { $0 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }

    func count(_ change: (inout RunCounters) -> Void) { locked.withLock { change(&$0.counters) } }

    /// The fields of `--summary`; `seconds` counts from the creation of this report.
    package func summary(exitCode: Int32) -> RunSummary {
        let state = state
        return RunSummary(
            counters: state.counters, lastSequence: state.lastSequence, duration: began.duration(to: .now),
            exitCode: exitCode)
    }
}

extension ExportReport: TransferReport {
    /// As ``State/counters``.
    package var counters: RunCounters { state.counters }

    /// Documents and attachments that could not be exported, of all documents that matched.
    package var failures: Failures {
        let counters = state.counters
        return Failures(.notExported, counters.deadLetters, of: max(counters.matched, counters.deadLetters))
    }

    /// One sentence that says what the export lacks and where the log names it.
    package func shortfall(isLogged: Bool) -> String {
        "\(failures); \(isLogged ? "" : "without --quiet ")the log names the first \(RepeatedMessages.limit), "
            + "or all with --log-level debug"
    }

    /// Includes the documents of earlier runs; `bytes` counts what was written.
    package var progress: TransferProgress {
        let state = state
        return TransferProgress(
            documents: state.counters.changes + state.resumedAt, expected: state.expected,
            bytes: state.counters.traffic.bytesOut)
    }

    /// The JSON object of `--summary`.
    package func summary(exitCode: Int32) -> [UInt8] { summary(exitCode: exitCode).json }
}
