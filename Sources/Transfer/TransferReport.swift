package import DocumentFlow

/// What commands tell of a run that moves data.
package protocol TransferReport: Sendable {
    var counters: RunCounters { get }
    /// What can't be read or written.
    var failures: Failures { get }
    /// How far it is.
    var standing: TransferStanding { get }
    /// Why it is not whole, in one line.
    ///
    /// - Parameter isLogged: Whether the log has named documents.
    func shortfall(isLogged: Bool) -> String
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
