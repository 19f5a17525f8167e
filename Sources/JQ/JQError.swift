internal import Glibc

/// Why a program gave no result for a document.
package enum JQError: Error, Sendable, Equatable {
    /// The program raised an error.
    case programError(String)
    /// The program does not compile.
    case notCompiled(JQCompileError)
    /// The program was still running after this processor time.
    case deadline(Duration)
    /// The outputs of one call exceed this number of bytes.
    case tooMuchOutput(limit: Int)
    /// The process that ran the program exited, most likely because it ran out of memory.
    case crashed
    /// This signal ended the process that ran the program.
    case killed(signal: Int32)
    /// The process that ran the program sent an invalid answer: the reason.
    case processError(String)
    /// A jq function aborted the process on an unsupported value. The process had not run out of memory.
    case aborted
    /// An output is or contains a number that is not finite, for example `NaN at .total`.
    case notFinite(String)
    /// The result contains this number of the document, or depends on its digits, and jq can't represent it.
    case inexactNumber(String)
    /// The program computes this number, and it can't be written exactly: jq calculates with doubles.
    case inexactResult(String)
    /// The result depends on this unpaired surrogate, which jq can't represent.
    case brokenCharacter(String)
    /// The document, `$change` or `$match` is nested more deeply than jq reads (256 levels).
    case tooDeep
    /// jq refuses the document, `$change` or `$match`, although it is valid JSON here.
    case unreadableInput(String)
    /// The value of a variable needs more memory than this limit.
    case bindingTooLarge(name: String, length: Int, limit: Int)
    /// jq can't read the value of a variable. No message: it is nested too deeply.
    case unreadableBinding(name: String, String?)
    /// The output is not JSON, or nested more deeply than jq writes.
    case unwritableOutput
    /// The pool has no program with this index.
    case noSuchProgram(Int)
    /// No helper process could be started.
    case notStarted(String)
    /// The calling task was cancelled.
    case cancelled
    /// The pool was shut down.
    case shutDown
}

extension JQError: CustomStringConvertible {
    /// One line of at most 300 characters: what is wrong and what to do.
    package var description: String { displayText(explanation, limit: 300) }

    private var explanation: String {
        switch self {
        case .programError(let message): "the program fails: \(displayText(message, limit: 250))"
        case .notCompiled(let error): "the program does not compile: \(error)"
        case .deadline(let duration): "the program runs longer than \(duration); make it simpler"
        case .tooMuchOutput(let limit): "the program's output exceeds \(limit) bytes; make it smaller"
        case .crashed:
            "jq ended while the program ran, most likely because it ran out of memory; make the program "
                + "use less"
        case .killed(SIGKILL):
            "jq was killed while the program ran, by the system if its memory ran out; check the system log, then "
                + "make the program use less, or retry"
        case .killed(let signal):
            "signal \(signal) (\(String(cString: strsignal(signal)))) ended jq while the program ran; change the program, "
                + "or retry if something else sent the signal"
        case .processError(let reason):
            "the process for jq programs failed: \(reason); retry, and report the failure if it persists"
        case .aborted:
            "a jq function crashed on a value that it can't handle, for example a huge number in a slice, or a remainder "
                + "with the divisor -1; check the value in the program first"
        case .notFinite(let what):
            "the program gives \(displayText(what, limit: 120)), which JSON can't represent; check the number first, "
                + "for example with isnan or isinfinite"
        case .inexactNumber(let text):
            "the result depends on the number \(displayText(text, limit: 60)), which jq can't hold exactly; "
                + "keep it as a string in the document, or leave that member out of the program"
        case .inexactResult(let text):
            "the program gives a number that can't be written exactly, about \(displayText(text, limit: 60)); return "
                + "a number below 2^53, or a string"
        case .brokenCharacter(let text):
            "the result depends on \(displayText(text, limit: 20)), half of a surrogate pair, which jq can't hold; "
                + "leave that text out of the program"
        case .tooDeep: "the document is nested more deeply than jq reads (256 levels); don't use jq for it"
        case .unreadableInput(let message): "jq can't read the document: \(displayText(message, limit: 200))"
        case .bindingTooLarge(let name, let length, let limit):
            "the data of $\(displayText(name, limit: 64)) has \(length) bytes, more than jq can load into "
                + "\(limit) bytes of memory; leave out what the programs don't use"
        case .unreadableBinding(let name, let message):
            "jq can't read the data of $\(displayText(name, limit: 64)): "
                + displayText(message ?? "it is nested more deeply than jq reads (256 levels)", limit: 200)
        case .unwritableOutput: "the result is not JSON, or nested more deeply than jq writes (256 levels)"
        case .noSuchProgram(let index): "there is no program \(index)"
        case .notStarted(let message): "can't start a process for jq programs: \(displayText(message, limit: 200))"
        case .cancelled: "the work was cancelled"
        case .shutDown: "jq programs have been shut down"
        }
    }
}

/// The first error that jq finds in a program's text.
package struct JQCompileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// jq's message, one line.
    package var message: String
    /// The line in the program, from 1. Nil if jq does not report one.
    package var line: Int?

    /// - Parameter message: jq's message, one line.
    package init(message: String, line: Int? = nil) {
        self.message = message
        self.line = line
    }

    /// `line N: MESSAGE`, without the line if it is unknown; at most 250 characters.
    package var description: String {
        displayText(line.map { "line \($0): \(message)" } ?? message, limit: 250)
    }
}

/// `text` on one line: control characters are escaped, and the text is cut with an ellipsis after `limit` characters.
func displayText(_ text: String, limit: Int) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
        let shown = isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        count += shown.unicodeScalars.count
        guard count < limit else { return result + "…" }
        result += shown
    }
    return result
}

/// Control characters, line separators and characters that change the writing direction.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}

extension JQError {
    /// Whether the same call may succeed later: the error is not caused by the program or the document.
    package var isTemporary: Bool {
        switch self {
        case .notStarted, .cancelled, .shutDown: true
        default: false
        }
    }

    /// Whether the error is about a variable of all programs, so that every call would fail.
    var isAboutBinding: Bool {
        switch self {
        case .bindingTooLarge, .unreadableBinding: true
        default: false
        }
    }
}
