internal import Foundation

/// stdout carries data, stderr everything else.
enum Console {
    static func print(_ line: String) { write(Data((line + "\n").utf8), to: FileHandle.standardOutput) }

    /// One line of data, which somebody counts on.
    ///
    /// - Throws: ``CommandFailure`` with 74.
    static func write(_ line: [UInt8]) throws(CommandFailure) {
        var failure: (any Error)?
        StandardErrorOutput.shared.steppingAside {
            do { try FileHandle.standardOutput.write(contentsOf: Data(line + [UInt8(ascii: "\n")])) } catch {
                failure = error
            }
        }
        if failure != nil { throw CommandFailure(.cannotWrite, "can't write to stdout: it is full, or closed") }
    }

    /// `message` may have several lines; each stands on its own.
    static func error(_ message: String) { complain("changebot: error: \(message)") }

    static func complain(_ text: String) { StandardErrorOutput.shared.write(Array((text + "\n").utf8)) }

    private static func write(_ data: Data, to handle: FileHandle) {
        // A closed pipe at the other end is no reason to fail.
        StandardErrorOutput.shared.steppingAside { try? handle.write(contentsOf: data) }
    }
}
