package import DocumentFlow
internal import Encodings
internal import Locking
package import Logging
internal import LosslessJSON
internal import Revisions

/// The progress and the result of an import, successful or not. Safe to read from any thread.
package final class ImportReport: Sendable {
    /// A snapshot of the import.
    package struct State: Sendable {
        /// `changes` counts documents of the input, `rejected` those not written for any reason.
        package var counters = RunCounters()
        /// Outcomes by kind, including those of earlier runs if the import was resumed.
        package var counts = ImportCounts()
        /// The number of documents; nil if unknown.
        package var expected: Int?
        /// Whether `expected` is extrapolated from the input read so far.
        var isEstimate = false
        /// The detected format; nil if an option set it.
        var format: InputFormat?
        /// The delimiter that the input's name shows; nil if an option set it.
        var delimiter: CSVDelimiter?
        /// The attachment folder named by the manifest; nil if an option set it.
        var attachments: String?
        /// Whether the run was asked to stop before the end.
        package var isStopped = false
        /// How many of `counters.traffic.retries` were writes; the others were reads.
        var retriedWrites = 0
    }

    /// The file that gets rejected documents; nil if they are not kept.
    package let rejectPath: String?
    /// Whether this is a dry run: nothing is written, and the counts say what would be.
    let isDryRun: Bool

    private let began = ContinuousClock.now
    private let locked = Locked(State())

    /// Starts the clock for the summary's `seconds`.
    package init(rejectPath: String? = nil, isDryRun: Bool = false) {
        self.rejectPath = rejectPath
        self.isDryRun = isDryRun
    }

    /// A copy of the current state.
    package var state: State { locked.withLock { $0 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }
}

extension ImportReport: TransferReport {
    /// Includes documents of earlier runs if the import was resumed.
    package var counters: RunCounters { state.counters }

    /// `bytes` counts what this run sent to the gateway.
    package var progress: TransferProgress {
        let state = state
        return TransferProgress(
            documents: state.counts.settled, expected: state.expected, isEstimate: state.isEstimate,
            bytes: state.counters.traffic.bytesOut)
    }

    /// Rejected documents, of all documents of the input so far.
    package var failures: Failures {
        let state = state
        let rejected = state.counts.rejected
        return Failures(
            .rejected, rejected, of: max(state.counters.changes, state.counts.settled, rejected), isPreview: isDryRun)
    }

    /// What was rejected and how to correct it. In a dry run, the reasons are on stdout.
    package func shortfall(isLogged: Bool) -> String {
        let failures = failures
        if isDryRun { return "\(failures); see the reasons in the lines with \"action\":\"refuse\"" }
        let isOne = failures.count == 1
        guard let rejectPath else {
            return "\(failures); use --reject FILE to keep \(isOne ? "it" : "them") for correction"
        }
        return "\(failures); \(isOne ? "it is" : "they are") in \(rejectPath), with the reasons in "
            + "\(rejectPath).reasons; correct \(isOne ? "it" : "them") there, and import "
            + "\(rejectPath.shellWord) with the same options" + additionalOptions(for: rejectPath)
    }

    /// Options that this import derived from its input, but that an import of the reject file needs.
    private func additionalOptions(for rejectPath: String) -> String {
        let state = state
        let named = InputFormat(fileName: rejectPath)
        let format: InputFormat? =
            switch state.format {
            case .csv?: named == .csv ? nil : .csv
            // The format of a single document may not be recognized.
            case .ejson?: .ejson
            case .json?, .ndjson?: named == .json || named == .ndjson ? nil : .ndjson
            case nil: nil
            }
        let delimiter = state.format == .csv && state.delimiter != .usual(in: rejectPath) ? state.delimiter : nil
        let options = [
            format.map { "--format \($0.rawValue)" }, delimiter.map { "--delimiter \($0.name)" },
            state.attachments.map { "--attachments \($0.shellWord)" },
        ]
        return options.compactMap { $0.map { " and \($0)" } }.joined()
    }

    /// The JSON object of `--summary`, with `inserted` and `changed` added; a dry run also has `would_insert` and
    /// `would_change`.
    package func summary(exitCode: Int32) -> [UInt8] {
        let state = state
        let summary = RunSummary(
            counters: state.counters, lastSequence: nil, duration: began.duration(to: .now), exitCode: exitCode,
            isDryRun: isDryRun)
        var text = try? JSONText(summary.json)
        for (name, preview, count) in [
            (LogKey.inserted, LogKey.wouldInsert, state.counts.inserted),
            (LogKey.changed, LogKey.wouldChange, state.counts.changed),
        ] {
            text = try? text?.setting(JSONPointer(tokens: [name]), to: Array("\(isDryRun ? 0 : count)".utf8))
            if isDryRun { text = try? text?.setting(JSONPointer(tokens: [preview]), to: Array("\(count)".utf8)) }
        }
        return text?.bytes ?? summary.json
    }
}

extension ImportReport {
    /// Logs the counts of an import that processed its whole input.
    func logDone(to logger: Logger) {
        logger.info(isDryRun ? "checked" : "imported", metadata: counts)
    }

    /// Logs the counts of an import that ends with an error. The error itself is reported elsewhere.
    func logFailure(to logger: Logger) { logger.info("stopped", metadata: counts) }

    /// Notes and logs that an import was asked to stop before the end.
    ///
    /// - Parameter settings: They determine whether the import can be resumed.
    package func logStop(_ settings: ImportSettings, to logger: Logger) {
        update { $0.isStopped = true }
        let isSaved = settings.progressPath.map { FileOperations.exists($0) } ?? false
        let canResume = isSaved && settings.preview == nil
        logger.notice(
            canResume ? "stopped before the end; continue with --resume" : "stopped before the end", metadata: counts)
    }

    private var counts: Logger.Metadata {
        let state = state
        return [
            LogKey.documents: "\(state.counters.changes)",
            isDryRun ? LogKey.wouldInsert : LogKey.inserted: "\(state.counts.inserted)",
            isDryRun ? LogKey.wouldChange : LogKey.changed: "\(state.counts.changed)",
            isDryRun ? LogKey.wouldDelete : LogKey.deleted: "\(state.counts.deleted)",
            LogKey.unchanged: "\(state.counts.unchanged)",
            isDryRun ? LogKey.wouldReject : LogKey.rejected: "\(state.counts.rejected)",
        ]
    }
}
