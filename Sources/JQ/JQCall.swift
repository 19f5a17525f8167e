package import LosslessJSON

/// One run of a program on one document.
package struct JQCall: Sendable {
    /// Index in the programs of the ``JQPool``.
    package var program: Int
    /// `.` of the program.
    package var document: JSONText
    /// `$change`: a JSON value.
    package var change: [UInt8]
    /// `$match`: a JSON object.
    package var match: [UInt8]
    /// `$now`, and what `now` gives: seconds since 1970.
    package var now: Int

    /// - Parameter program: An index in the programs of the ``JQPool``.
    package init(program: Int, document: JSONText, change: [UInt8], match: [UInt8], now: Int) {
        self.program = program
        self.document = document
        self.change = change
        self.match = match
        self.now = now
    }
}

/// The result of a ``JQCall``.
package enum JQOutcome: Sendable {
    /// All outputs of the program, in order; each is checked JSON.
    case outputs([JSONText])
    /// The program failed; earlier outputs are dropped.
    case failed(JQError)
}
