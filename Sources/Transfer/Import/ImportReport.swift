internal import Locking
internal import LosslessJSON
package import Pipeline

/// What can be told of an import while it goes on and after it, whatever its end.
package final class ImportReport: Sendable {
    package struct State: Sendable {
        /// `changes` are the documents of the input, `deadLetters` those that were rejected for whatever reason.
        package var counters = RunCounters()
        /// What has become of documents.
        package var counts = ImportCounts()
        /// How many documents there are, as far as can be told from what was read.
        package var expected: Int?
        /// Asked to stop before the end.
        package var isStopped = false
        /// Of `counters.retries` those of writes; the others are those of questions.
        var retriedWrites = 0
    }

    /// Where rejected documents are kept.
    package let rejectPath: String?

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    package init(rejectPath: String? = nil) { self.rejectPath = rejectPath }

    package var state: State { locked.withLock { $0 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }
}

extension ImportReport: TransferReport {
    package var counters: RunCounters { state.counters }

    package var standing: TransferStanding {
        let state = state
        return TransferStanding(
            documents: state.counts.settled, expected: state.expected, bytes: state.counters.bytesOut)
    }

    package var shortfall: String? {
        let rejected = state.counts.rejected
        guard rejected > 0 else { return nil }
        let count = rejected == 1 ? "1 document was rejected" : "\(rejected) documents were rejected"
        return rejectPath.map { "\(count); they are in \($0), and why is in \($0).reasons" }
            ?? "\(count); --reject FILE keeps them, to be mended and imported"
    }

    /// As the summary of every run, with `inserted` and `changed`.
    package func summary(exitCode: Int32) -> [UInt8] {
        let state = state
        let summary = RunSummary(
            counters: state.counters, lastSequence: nil, duration: began.duration(to: .now), exitCode: exitCode)
        var text = try? JSONText(summary.json)
        for (name, count) in [("inserted", state.counts.inserted), ("changed", state.counts.changed)] {
            text = try? text?.setting(JSONPointer(tokens: [name]), to: Array("\(count)".utf8))
        }
        return text?.bytes ?? summary.json
    }
}
