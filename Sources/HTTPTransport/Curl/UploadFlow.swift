/// What lies between a task that makes a request body and the transfer that sends it: one part at a time.
///
/// A plain value under a lock; each function says in its result what the caller has to do once the lock is free.
struct UploadFlow: Sendable {
    /// Told whether the transfer still wants bytes.
    typealias Feeder = UnsafeContinuation<Bool, Never>

    private var part: [UInt8] = []
    private var taken = 0
    private var feeder: Feeder?
    private var isClosed = false
    /// The transfer waits for bytes: no silence of the server's.
    private(set) var isStarving = false
    /// Something went out: the body can't be sent again.
    private(set) var hasBegun = false
    /// Why there are no more bytes.
    private(set) var failure: HTTPTransportError?

    /// Copies the next bytes into `target` and says how many; nil if there are none yet and the transfer is to pause, 0 if
    /// it is to send no more. The feeder, if there is one, is to be told that there is room.
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

    /// Whether the transfer is still there, if there is room already; else nil, and `feeder` waits for it.
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

    /// There are no more bytes. A transfer that wants none is not told: it may be reading the reason.
    mutating func fail(_ error: HTTPTransportError) {
        if !isClosed { failure = error }
    }

    /// The transfer is over, or has got its answer. The feeder is to be told so.
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
