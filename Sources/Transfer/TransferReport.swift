package import DocumentFlow

/// What commands tell of a run that moves data.
package protocol TransferReport: Sendable {
    var counters: RunCounters { get }
    /// How far it is.
    var standing: TransferStanding { get }
    /// Why it is not whole, in one line; nil if the log has said all of it.
    var shortfall: String? { get }
    /// One JSON object with a final line feed.
    func summary(exitCode: Int32) -> [UInt8]
}

/// How far a run is.
package struct TransferStanding: Sendable {
    /// Done with, by earlier runs too.
    package let documents: Int
    /// How many there are; nil if nobody knows.
    package let expected: Int?
    package let bytes: Int
}

extension TransferReport {
    package var shortfall: String? {
        let count = counters.deadLetters
        guard count > 0 else { return nil }
        return "\(count == 1 ? "1 document is" : "\(count) documents are") missing or not whole in the export; "
            + "without --quiet the log names the first \(RepeatedMessages.limit), with --log-level debug all"
    }
}

extension ExportReport: TransferReport {
    package var counters: RunCounters { state.counters }

    package var standing: TransferStanding {
        let state = state
        return TransferStanding(
            documents: state.counters.changes + state.resumedAt, expected: state.expected,
            bytes: state.counters.bytesOut)
    }

    package func summary(exitCode: Int32) -> [UInt8] { summary(exitCode: exitCode).json }
}
