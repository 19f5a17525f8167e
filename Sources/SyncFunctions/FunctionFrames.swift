/// The kind of a message between this process and a helper process for a sync function.
enum FunctionFrame: UInt8 {
    /// To the process, first: the time limit of a call in milliseconds, and its memory limit in bytes.
    case limits = 1
    /// To the process: the function. Answered with `ready` or `refused`.
    case function
    /// To the process: a call. Answered with `result`.
    case call

    case ready
    /// The line and the message.
    case refused
    case result
}
