internal import Glibc

/// The standard input and output of a helper process, as frames. Invalid input ends the process; its parent then starts
/// another one.
package enum HelperInput {
    /// Calls `answer` for each frame, and ends the process at the end of the input.
    package static func serve(_ answer: (inout Frame) -> Void) -> Never {
        var frames = FrameReader(maxFrameSize: Int(Int32.max))
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        while true {
            let count = read(STDIN_FILENO, chunk.baseAddress, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { _exit(0) }
            frames.append(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
            do throws(MalformedFrame) {
                while var frame = try frames.next() { answer(&frame) }
            } catch { _exit(EXIT_FAILURE) }
        }
    }

    /// Sends the frames and clears the writer.
    package static func send(_ frames: inout FrameWriter) {
        var sent = 0
        while sent < frames.bytes.count {
            let count = frames.bytes.withUnsafeBytes {
                write(STDOUT_FILENO, $0.baseAddress?.advanced(by: sent), $0.count - sent)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { _exit(EXIT_FAILURE) }
            sent += count
        }
        frames.removeAll(keepingCapacity: frames.bytes.count < 1 << 20)
    }

    /// Ends the process by SIGPROF two seconds of processor time after `deadline`; nil: never. The parent kills the
    /// process at the deadline; this handles the case that the parent no longer exists.
    package static func setAlarm(_ deadline: Duration?) {
        var timer = itimerval()
        timer.it_value.tv_sec = deadline.map { Int($0.components.seconds) + 2 } ?? 0
        setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &timer, nil)
    }
}
