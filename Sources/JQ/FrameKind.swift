internal import HelperProcesses

/// The kind of a message between this process and a helper process for jq.
enum FrameKind: UInt8 {
    // To the process.
    /// The limits, as the first frame. Answered with `ready`.
    case limits = 1
    /// The name and value of a variable for all programs. Answered with `bound` or `unreadableInput`.
    case binding
    /// The local variables and the text of the next program.
    case program
    /// Compile a range of programs. Answered with `done` or `compileError`.
    case check
    /// Run one program. Answered with any number of `output`, then `done` or an error.
    case call

    // From the process.
    /// The limits are in force, or a program has been compiled for its first use.
    case ready
    /// The value was read.
    case bound
    case output
    case done
    case compileError
    case programError
    case unreadableInput
    case tooMuchOutput
    /// An output contains a number that is not finite.
    case notFinite
    /// The processor time of a call in microseconds, sent before its last frame. Omitted below a millisecond.
    case time
}

extension FrameWriter {
    mutating func begin(_ kind: FrameKind) { begin(kind.rawValue) }

    mutating func append(_ content: some Sequence<UInt8>) { append(Array(content)) }

    mutating func write(_ kind: FrameKind, _ content: some Sequence<UInt8>) {
        begin(kind)
        append(content)
        end()
    }
}
