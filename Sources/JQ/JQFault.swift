/// Why a program gave no result for a document.
package enum JQFault: Error, Sendable, Equatable {
    /// The program ended with an error of its own.
    case programError(String)
    /// The program does not compile.
    case notCompiled(JQCompileFault)
    /// The program was still running after this much processor time.
    case deadline(Duration)
    /// The outputs of one call have more bytes than this.
    case tooMuchOutput(limit: Int)
    /// The process that ran the program ended: most often for want of memory.
    case crashed
    /// The result holds this number, or depends on its digits, and jq can't hold it.
    case inexactNumber(String)
    /// The result depends on this half of a surrogate pair, which jq can't hold.
    case brokenCharacter(String)
    /// The document, `$change` or `$match` is nested more deeply than jq reads.
    case tooDeep
    /// jq reads the document, `$change` or `$match` differently than the program here does.
    case unreadableInput(String)
    /// The process could not take in a value that the programs know by a name: it needs more memory than this.
    case bindingTooLarge(name: String, length: Int, limit: Int)
    /// jq can't read a value that the programs know by a name; no message: it is nested too deeply.
    case unreadableBinding(name: String, String?)
    /// The output is not JSON: it is nested more deeply than jq writes.
    case unwritableOutput
    /// The call names no program of the pool.
    case noSuchProgram(Int)
    /// No process for jq programs could be started.
    case notStarted(String)
    /// The task that asked was cancelled.
    case cancelled
    /// The pool was shut down.
    case shutDown
}

extension JQFault: CustomStringConvertible {
    /// One line of at most 300 characters: what is wrong and what to do.
    package var description: String { displayText(explanation, limit: 300) }

    private var explanation: String {
        switch self {
        case .programError(let message): "the program fails: \(displayText(message, limit: 250))"
        case .notCompiled(let fault): "the program does not compile: \(fault)"
        case .deadline(let duration): "the program runs longer than \(duration); make it simpler"
        case .tooMuchOutput(let limit): "the program gives more than \(limit) bytes; make it give less"
        case .crashed: "jq ended while the program ran, most likely out of memory; make the program need less"
        case .inexactNumber(let text):
            "the result depends on the number \(displayText(text, limit: 60)), which jq can't hold exactly; "
                + "leave that number out of the program"
        case .brokenCharacter(let text):
            "the result depends on \(displayText(text, limit: 20)), half of a surrogate pair, which jq can't hold; "
                + "leave that text out of the program"
        case .tooDeep: "the document is nested more deeply than jq reads (256 levels); don't use jq for it"
        case .unreadableInput(let message): "jq can't read the document: \(displayText(message, limit: 200))"
        case .bindingTooLarge(let name, let length, let limit):
            "the data of $\(displayText(name, limit: 64)) has \(length) bytes, more than jq can take into "
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

/// The first thing that jq finds wrong with a program's text.
package struct JQCompileFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// jq's message, one line.
    package var message: String
    /// The line within the program, from 1; nil if jq names none.
    package var line: Int?

    package init(message: String, line: Int? = nil) {
        self.message = message
        self.line = line
    }

    package var description: String {
        displayText(line.map { "line \($0): \(message)" } ?? message, limit: 250)
    }
}

/// `text` on one line: control characters escaped, cut with an ellipsis behind `limit` characters.
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

/// Control characters, line separators and those that turn the writing direction.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}

extension JQFault {
    /// Whether neither the program nor the document is to blame: the same call may succeed later.
    package var isPassing: Bool {
        switch self {
        case .notStarted, .cancelled, .shutDown: true
        default: false
        }
    }

    /// Whether it is about what all programs know, and so the same for every call.
    var isAboutBinding: Bool {
        switch self {
        case .bindingTooLarge, .unreadableBinding: true
        default: false
        }
    }
}
