/// The buffer between a task that produces a request body and the transfer that sends it: one part at a time.
///
/// A plain value under a lock; the result of each function says what the caller must do after releasing the lock.
struct UploadFlow: Sendable {
    /// The waiting task, resumed with true if the transfer still needs bytes.
    typealias Feeder = UnsafeContinuation<Bool, Never>

    private var part: [UInt8] = []
    private var taken = 0
    private var feeder: Feeder?
    private var isClosed = false
    /// The transfer waits for bytes of the task, so the idle timeout does not run.
    private(set) var isStarving = false
    /// Some bytes were sent, so the body can't be sent again.
    private(set) var hasBegun = false
    /// Why no more bytes will come.
    private(set) var failure: HTTPTransportError?

    /// Copies the next bytes into `target` and returns how many: nil if there are none yet and the transfer must pause,
    /// 0 if it must send no more. If a feeder is returned, it must be told that there is room.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> (count: Int?, feeder: Feeder?) {
        guard !isClosed else { return (0, nil) }
        let count = min(target.count, part.count - taken)
        isStarving = count == 0
        guard count > 0 else { return (nil, takeFeeder()) }
        part.withUnsafeBytes { bytes in
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
        }
        hasBegun = true
        taken += count
        guard taken == part.count else { return (count, nil) }
        part = []
        taken = 0
        return (count, takeFeeder())
    }

    /// True if there is room, false if the transfer is over. Nil: no room yet, and `feeder` waits for it.
    mutating func wait(_ feeder: Feeder) -> Bool? {
        guard !isClosed, !part.isEmpty else { return !isClosed }
        self.feeder = feeder
        return nil
    }

    mutating func put(_ part: [UInt8]) {
        guard !isClosed else { return }
        self.part = part
        isStarving = false
    }

    /// Records that no more bytes will come. Ignored once the upload is closed: the transfer may be reading a refusal.
    mutating func fail(_ error: HTTPTransportError) {
        if !isClosed { failure = error }
    }

    /// Ends the upload: the transfer is over, or has its answer. If a feeder is returned, it must be told so.
    mutating func close() -> Feeder? {
        isClosed = true
        part = []
        return takeFeeder()
    }

    private mutating func takeFeeder() -> Feeder? {
        defer { feeder = nil }
        return feeder
    }
}
