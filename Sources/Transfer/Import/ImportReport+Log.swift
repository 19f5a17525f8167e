internal import DocumentFlow
package import Logging

extension ImportReport {
    /// Logs the counts of an import that went through its whole input.
    func logDone(to logger: Logger) {
        logger.info(isDryRun ? "checked" : "imported", metadata: counts)
    }

    /// Logs the counts of an import that an error ends. The error says why.
    func logFailure(to logger: Logger) { logger.info("stopped", metadata: counts) }

    /// Notes and logs that an import was asked to stop before the end.
    ///
    /// - Parameter settings: Tell whether it can be resumed.
    package func logStop(_ settings: ImportSettings, to logger: Logger) {
        update { $0.isStopped = true }
        let canResume = settings.progressPath != nil && settings.preview == nil
        logger.notice(
            canResume ? "stopped before the end; continue with --resume" : "stopped before the end", metadata: counts)
    }

    private var counts: Logger.Metadata {
        let state = state
        return [
            LogKey.documents: "\(state.counters.changes)", "inserted": "\(state.counts.inserted)",
            "changed": "\(state.counts.changed)", "deleted": "\(state.counts.deleted)",
            "unchanged": "\(state.counts.unchanged)", "rejected": "\(state.counts.rejected)",
        ]
    }
}
