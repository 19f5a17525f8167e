internal import Foundation

/// stdout carries data, stderr everything else.
enum Console {
    static func print(_ line: String) { write(line + "\n", to: FileHandle.standardOutput) }

    /// `message` may have several lines; each stands on its own.
    static func error(_ message: String) { complain("changebot: error: \(message)") }

    static func complain(_ text: String) { write(text + "\n", to: FileHandle.standardError) }

    private static func write(_ text: String, to handle: FileHandle) {
        // A closed pipe at the other end is no reason to fail.
        try? handle.write(contentsOf: Data(text.utf8))
    }
}
