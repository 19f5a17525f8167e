package import DocumentFlow
internal import Locking
internal import LosslessJSON

/// What can be told of an import while it goes on and after it, whatever its end.
package final class ImportReport: Sendable {
    package struct State: Sendable {
        /// `changes` are the documents of the input, `rejected` those that were not written for whatever reason.
        package var counters = RunCounters()
        /// What has become of documents.
        package var counts = ImportCounts()
        /// How many documents there are, as far as can be told from what was read.
        package var expected: Int?
        /// How the documents are written down, where the input told and no option.
        var format: InputFormat?
        /// The folder of attachments, where the manifest told and no option.
        var attachments: String?
        /// Asked to stop before the end.
        package var isStopped = false
        /// Of `counters.retries` those of writes; the others are those of questions.
        var retriedWrites = 0
    }

    /// Where rejected documents are kept.
    package let rejectPath: String?
    /// Whether nothing is written, and the counts are of what would be.
    let isDryRun: Bool

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    package init(rejectPath: String? = nil, isDryRun: Bool = false) {
        self.rejectPath = rejectPath
        self.isDryRun = isDryRun
    }

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

    package var failures: Failures {
        let state = state
        let rejected = state.counts.rejected
        return Failures(
            .rejected, rejected, of: max(state.counters.changes, state.counts.settled, rejected), isPreview: isDryRun)
    }

    /// Each refusal of a dry run stands on stdout.
    package func shortfall(isLogged: Bool) -> String {
        let failures = failures
        if isDryRun { return "\(failures); see the reasons in the lines with \"action\":\"refuse\"" }
        let isOne = failures.count == 1
        guard let rejectPath else {
            return "\(failures); --reject FILE keeps \(isOne ? "it" : "them"), to be corrected and imported"
        }
        return "\(failures); \(isOne ? "it is" : "they are") in \(rejectPath), and why is in \(rejectPath).reasons; "
            + "correct \(isOne ? "it" : "them") there, and import \(rejectPath.shellWord) with the same options"
            + moreOptions(for: rejectPath)
    }

    /// What this import was told by its input, and the next one is not told by the reject file.
    private func moreOptions(for rejectPath: String) -> String {
        let state = state
        let named = InputFormat(fileName: rejectPath)
        let format: InputFormat? =
            switch state.format {
            case .csv?: named == .csv ? nil : .csv
            // A single document may not tell.
            case .ejson?: .ejson
            case .json?, .ndjson?: named == .json || named == .ndjson ? nil : .ndjson
            case nil: nil
            }
        let options = [
            format.map { "--format \($0.rawValue)" }, state.attachments.map { "--attachments \($0.shellWord)" },
        ]
        return options.compactMap { $0.map { " and \($0)" } }.joined()
    }

    /// As the summary of every run, with `inserted` and `changed`.
    package func summary(exitCode: Int32) -> [UInt8] {
        let state = state
        let summary = RunSummary(
            counters: state.counters, lastSequence: nil, duration: began.duration(to: .now), exitCode: exitCode,
            isDryRun: isDryRun)
        var text = try? JSONText(summary.json)
        for (name, count) in [("inserted", state.counts.inserted), ("changed", state.counts.changed)] {
            text = try? text?.setting(JSONPointer(tokens: [name]), to: Array("\(count)".utf8))
        }
        return text?.bytes ?? summary.json
    }
}
