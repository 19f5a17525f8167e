package import DocumentFlow

/// What export and import report to the command line.
package protocol TransferReport: Sendable {
    var counters: RunCounters { get }
    /// Documents that could not be read or written.
    var failures: Failures { get }
    /// The current progress.
    var progress: TransferProgress { get }
    /// What the result lacks, on one line.
    ///
    /// - Parameter isLogged: Whether the log was shown and names documents.
    func shortfall(isLogged: Bool) -> String
    /// The JSON object of `--summary`, with a final line feed.
    func summary(exitCode: Int32) -> [UInt8]
}

/// The progress of a run.
package struct TransferProgress: Sendable {
    /// Documents finished, including those of earlier runs of the same job.
    package let documents: Int
    /// How many documents there are; nil if unknown.
    package let expected: Int?
    /// Whether `expected` is estimated.
    package var isEstimate = false
    /// Bytes written to the file or sent to the gateway by this run.
    package let bytes: Int
}
