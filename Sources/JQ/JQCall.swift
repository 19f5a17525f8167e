package import LosslessJSON

/// One program over one document.
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

    package init(program: Int, document: JSONText, change: [UInt8], match: [UInt8], now: Int) {
        self.program = program
        self.document = document
        self.change = change
        self.match = match
        self.now = now
    }
}

/// What came of a ``JQCall``.
package enum JQOutcome: Sendable {
    /// Everything that the program gave, in order; each one is checked JSON.
    case outputs([JSONText])
    /// The program gave no usable result; what it had given before is dropped.
    case failed(JQFault)
}
