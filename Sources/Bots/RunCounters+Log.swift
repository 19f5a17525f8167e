package import DocumentFlow
package import Logging

extension RunCounters {
    /// The counts of a run that has ended, for the log. Those of effects outside the gateway only if there are any.
    ///
    /// - Parameters:
    ///   - isDryRun: Whether nothing was written.
    ///   - onlyLearns: Whether the run only let rules learn documents.
    package func logMetadata(isDryRun: Bool = false, onlyLearns: Bool = false) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "looked_at": "\(changes)", isDryRun ? LogKey.wouldDeadLetter : LogKey.deadLetters: "\(deadLetters)",
        ]
        if onlyLearns {
            metadata[isDryRun ? "would_learn" : "learned"] = "\(rules.learned.values.reduce(0, +))"
            return metadata
        }
        metadata["matched"] = "\(matched)"
        metadata[isDryRun ? "would_write" : "written"] = "\(isDryRun ? preview.written : written)"
        metadata["unchanged"] = "\(unchanged)"
        let outsideCounts = [
            ("emitted", outside.lines), ("webhooks_sent", outside.accepted), ("webhooks_refused", outside.refused),
        ]
        for (key, count) in outsideCounts where count > 0 { metadata[key] = "\(count)" }
        return metadata
    }
}
