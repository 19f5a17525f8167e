internal import Foundation

/// stdout carries data, stderr everything else.
enum Console {
    static func print(_ line: String) { write(Data((line + "\n").utf8), to: FileHandle.standardOutput) }

    /// One line of data.
    static func print(_ line: [UInt8]) { write(Data(line + [UInt8(ascii: "\n")]), to: FileHandle.standardOutput) }

    /// `message` may have several lines; each stands on its own.
    static func error(_ message: String) { complain("changebot: error: \(message)") }

    static func complain(_ text: String) { StandardErrorOutput.shared.write(Array((text + "\n").utf8)) }

    private static func write(_ data: Data, to handle: FileHandle) {
        // A closed pipe at the other end is no reason to fail.
        StandardErrorOutput.shared.steppingAside { try? handle.write(contentsOf: data) }
    }
}
