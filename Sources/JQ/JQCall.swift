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
    /// `$now`, and the result of `now`: seconds since 1970.
    package var now: Int
    /// The values of the program's ``JQProgram/locals``, an object by their names. Nil for a program without locals.
    package var locals: JSONText?

    /// - Parameter program: An index in the programs of the ``JQPool``.
    package init(
        program: Int, document: JSONText, change: [UInt8], match: [UInt8], now: Int, locals: JSONText? = nil
    ) {
        self.program = program
        self.document = document
        self.change = change
        self.match = match
        self.now = now
        self.locals = locals
    }
}

extension JQCall {
    /// The part that may contain values that jq can't represent: the document, or a list of the document and the
    /// locals.
    var input: JSONText {
        guard let locals else { return document }
        let list = [[UInt8(ascii: "[")], document.bytes, [UInt8(ascii: ",")], locals.bytes, [UInt8(ascii: "]")]]
        // Fails only for a document at the depth limit, which jq can't read anyway.
        return (try? JSONText(Array(list.joined()))) ?? document
    }
}

/// The result of a ``JQCall``.
package enum JQOutcome: Sendable {
    /// All outputs of the program, in order; each is checked JSON.
    case outputs([JSONText])
    /// The program failed; earlier outputs are dropped.
    case failed(JQError)
}
