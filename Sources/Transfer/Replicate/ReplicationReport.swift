package import DocumentFlow
package import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions

/// The progress and the result of a replication, successful or not. Safe to read from any thread.
package final class ReplicationReport: Sendable {
    /// A snapshot of the replication.
    package struct State: Sendable {
        /// Rows of the source's feed.
        package var changes = 0
        /// Revisions by outcome, of this run.
        package var counts = ReplicationCounts()
        package var retries = 0
        package var writeRequests = 0
        package var bytesIn = 0
        package var bytesOut = 0
        /// The sequence up to which everything is replicated.
        package var lastSequence: SequenceID?
        /// The number of changes that were pending at the start; nil if unknown.
        package var expected: Int?
        /// Whether the run was asked to stop before the end.
        package var isStopped = false
    }

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    /// Starts the clock for the summary's `seconds`.
    package init() {}

    /// A copy of the current state.
    package var state: State { locked.withLock { $0 } }

    /// Counts a retried request.
    package func noteRetry() { update { $0.retries += 1 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }

    func count(_ change: (inout ReplicationCounts) -> Void) { locked.withLock { change(&$0.counts) } }

    /// Logs the outcome of a replication that has ended or was asked to stop.
    func logEnd(to logger: Logger) {
        let state = state
        let counts = state.counts
        var metadata: Logger.Metadata = [
            LogKey.revisions: "\(counts.checked)", LogKey.written: "\(counts.written)",
            LogKey.deleted: "\(counts.deleted)", LogKey.unchanged: "\(counts.checked - counts.missing)",
            LogKey.rejected: "\(counts.failed)", LogKey.attachments: "\(counts.attachments)",
        ]
        if counts.filtered > 0 { metadata[LogKey.filtered] = "\(counts.filtered)" }
        if counts.settled > 0 { metadata[LogKey.settled] = "\(counts.settled)" }
        logger.info(state.isStopped ? "stopped; the next run continues" : "replicated", metadata: metadata)
    }

    func noteWritten(_ revision: PreparedRevision) {
        update {
            $0.bytesOut += revision.uploadedByteCount
            $0.counts.written += 1
            if revision.revision.isDeleted { $0.counts.deleted += 1 }
            $0.counts.attachments += revision.sentAttachments
            $0.counts.keptAttachments += revision.keptAttachments
        }
    }

    /// Counts the requests that were sent since the last call.
    func note(_ sender: RevisionSender) async {
        let new = await sender.newRequests()
        update {
            $0.writeRequests += new.traffic.writeRequests
            $0.bytesOut += new.traffic.bytesOut
            $0.retries += new.traffic.retries
        }
    }
}

extension ReplicationReport: TransferReport {
    /// `matched` counts the revisions that the target lacked, `unchanged` those that it had, and `rejected` those that
    /// could not be replicated.
    package var counters: RunCounters {
        let state = state
        var counters = RunCounters()
        counters.changes = state.changes
        counters.matched = state.counts.missing
        counters.unchanged = state.counts.checked - state.counts.missing
        counters.written = state.counts.written
        counters.deleted = state.counts.deleted
        counters.conflicts = state.counts.conflicts
        counters.rejected = state.counts.failed
        counters.traffic.retries = state.retries
        counters.traffic.writeRequests = state.writeRequests
        counters.traffic.bytesIn = state.bytesIn
        counters.traffic.bytesOut = state.bytesOut
        return counters
    }

    /// `bytes` counts what was sent to the target.
    package var progress: TransferProgress {
        let state = state
        return TransferProgress(
            documents: state.changes, expected: state.expected, isEstimate: true, bytes: state.bytesOut)
    }

    package var failures: Failures {
        let counts = state.counts
        return Failures(.notReplicated, counts.failed, of: max(counts.missing, counts.failed))
    }

    package func shortfall(isLogged: Bool) -> String {
        "\(failures); \(isLogged ? "" : "without --quiet ")the log names the first \(RepeatedMessages.limit), "
            + "or all with --log-level debug"
    }

    /// The JSON object of `--summary`, with `attachments`, `attachments_kept`, `filtered`, `settled` and
    /// `expiry_lost` added.
    package func summary(exitCode: Int32) -> [UInt8] {
        let state = state
        let summary = RunSummary(
            counters: counters, lastSequence: state.lastSequence, duration: began.duration(to: .now),
            exitCode: exitCode)
        var text = try? JSONText(summary.json)
        for (name, count) in [
            ("attachments", state.counts.attachments), ("attachments_kept", state.counts.keptAttachments),
            ("filtered", state.counts.filtered), ("settled", state.counts.settled),
            ("expiry_lost", state.counts.lostExpiries),
        ] {
            text = try? text?.setting(JSONPointer(tokens: [name]), to: Array("\(count)".utf8))
        }
        return text?.bytes ?? summary.json
    }
}
