internal import Logging

/// Writes data to stdout and everything else to stderr. Escapes control characters in text for people.
enum Console {
    // MARK: - stdout

    /// Prints one line for people.
    static func print(_ line: VisibleLine) {
        // Ignore write errors: here, a closed pipe is not a failure.
        StandardErrorOutput.shared.hidingStatusLine {
            _ = FileDescriptor.standardOutput.write(Array((line.text + "\n").utf8))
        }
    }

    static func print(_ line: String) { print(VisibleLine(line)) }

    /// Prints a JSON Schema for editors.
    static func print(schema: [UInt8]) {
        // `print` adds the final line feed.
        for line in String(decoding: schema.dropLast(), as: UTF8.self).visibleLines { print(line) }
    }

    /// Clears the screen if stdout is a terminal.
    static func clearScreen() {
        if isTerminal { _ = FileDescriptor.standardOutput.write(Array(TerminalControl.clearScreen.utf8)) }
    }

    /// Writes lines for people.
    ///
    /// - Throws: ``CommandError`` with 74 if they can't be written.
    static func write(_ lines: [VisibleLine]) throws(CommandError) {
        try writeLine(Array(lines.map(\.text).joined(separator: "\n").utf8))
    }

    static func write(_ lines: [String]) throws(CommandError) { try write(lines.map { VisibleLine($0) }) }

    /// Writes JSON. On a terminal, invisible characters are escaped.
    ///
    /// - Throws: ``CommandError`` with 74 if it can't be written.
    static func write(_ json: [UInt8]) throws(CommandError) {
        try writeLine(isTerminal ? json.visibleJSON : json)
    }

    private static let isTerminal = TerminalStyle.isTerminal(.standardOutput)

    private static func writeLine(_ line: [UInt8]) throws(CommandError) {
        var isWritten = false
        StandardErrorOutput.shared.hidingStatusLine {
            isWritten = FileDescriptor.standardOutput.write(line + [UInt8(ascii: "\n")])
        }
        guard isWritten else { throw CommandError(.cannotWrite, "can't write to stdout: it is full or closed") }
    }

    // MARK: - stderr

    /// Writes an error on one line.
    static func error(_ message: String, exit code: ExitStatus? = nil) {
        complain("changebot: error: \(message)", LogLine(.error, message, exit: code))
    }

    /// Writes one line that is not a log line. With JSON logs, it is written as one.
    static func complain(_ text: String) { complain(text, LogLine(.info, text)) }

    static func warn(_ text: String) { complain(text, LogLine(.warning, text)) }

    /// - Parameter line: Written instead of `text` if logs are JSON.
    static func complain(_ text: String, _ line: LogLine) { complain([VisibleLine(text)], line) }

    static func complain(_ text: [VisibleLine], _ line: LogLine) {
        switch StandardErrorLog.Format.chosen {
        case .text: StandardErrorOutput.shared.write(Array(text.map { $0.text + "\n" }.joined().utf8))
        case .json: StandardErrorOutput.shared.write(line.json)
        }
    }
}
