internal import Locking

/// All output to stderr. Lines are never interleaved, and the status line stays below them.
final class StandardErrorOutput: Sendable {
    // Ignores write errors: a closed stderr is not a failure.
    static let shared = StandardErrorOutput { bytes in _ = FileDescriptor.standardError.write(bytes) }

    private let sink: @Sendable ([UInt8]) -> Void
    /// The current status line; empty if there is none.
    private let status = Locked("")

    /// - Parameter sink: Receives the bytes. Called under a lock, so it must not use this object.
    init(sink: @escaping @Sendable ([UInt8]) -> Void) { self.sink = sink }

    /// Writes whole lines, above the status line if there is one.
    func write(_ lines: [UInt8]) {
        status.withLock { status in
            // A single write, so that the status line does not flicker.
            sink(status.isEmpty ? lines : Array(TerminalControl.clearLine.utf8) + lines + Array(status.utf8))
        }
    }

    /// Replaces the status line. An empty text removes it.
    func show(status text: String) {
        let text = text.visible
        status.withLock { status in
            guard !text.isEmpty || !status.isEmpty else { return }
            status = text
            sink(Array((TerminalControl.clearLine + text).utf8))
        }
    }

    /// Hides the status line while `body` writes to stdout, which may be the same terminal.
    func hidingStatusLine(_ body: () -> Void) {
        status.withLock { status in
            if !status.isEmpty { sink(Array(TerminalControl.clearLine.utf8)) }
            body()
            if !status.isEmpty { sink(Array(status.utf8)) }
        }
    }
}
