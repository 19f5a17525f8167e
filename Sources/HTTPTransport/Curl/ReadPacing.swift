/// How long a transfer waits before its socket is read again, so that an answer in small pieces does not wake a reader
/// for each of them.
///
/// The first bytes after a pause are delivered immediately. Later bytes accumulate in the system's buffer: for 1 ms at
/// first, then for as long as 48 KiB take to arrive, but never longer than the request allows. The delay of a
/// slow, long answer may grow to a fiftieth of its total delay. A fast answer is not delayed.
struct ReadPacing: Sendable {
    /// The desired bytes per read after a delay. A socket's receive buffer is larger (64 KiB at first on Linux), so the
    /// sender need not wait for a delayed transfer.
    static let wantedBytes = 48 << 10
    static let minDelay: Duration = .milliseconds(1)

    private let maxDelays: ClosedRange<Duration>
    /// Nil after a pause, and after a read that needs no delay.
    private var lastDelay: Duration?
    /// The total of all delays since then.
    private var totalDelay: Duration = .zero

    /// - Parameter maxDelays: The longest delay at first, and after a long time of small pieces.
    init(maxDelays: ClosedRange<Duration>) { self.maxDelays = maxDelays }

    /// The delay after a read, or after another delay; nil for none.
    ///
    /// - Parameter bytes: The number of bytes received since the last call.
    mutating func delay(after bytes: Int) -> Duration? {
        lastDelay = next(after: bytes)
        totalDelay = lastDelay.map { totalDelay + $0 } ?? .zero
        return lastDelay
    }

    private func next(after bytes: Int) -> Duration? {
        guard bytes > 0 else { return nil }
        let maxDelay = min(max(maxDelays.lowerBound, totalDelay / 50), maxDelays.upperBound)
        guard let lastDelay else { return bytes < Self.wantedBytes ? min(Self.minDelay, maxDelay) : nil }
        let wanted = lastDelay * (Double(Self.wantedBytes) / Double(bytes))
        return wanted < Self.minDelay ? nil : min(wanted, lastDelay * 2, maxDelay)
    }
}

/// When a transfer reads from its socket.
struct PacedReading: Sendable {
    /// Nil for a body that is delivered without pacing.
    private var pacing: ReadPacing?
    /// Bytes of the body since the last check.
    private var freshBytes = 0
    /// When the socket is read again; nil unless the transfer rests.
    private(set) var restsUntil: ContinuousClock.Instant?

    /// - Parameter maxDelays: See ``ReadPacing/init(maxDelays:)``; nil: without pacing.
    init(maxDelays: ClosedRange<Duration>?) { pacing = maxDelays.map { ReadPacing(maxDelays: $0) } }

    /// Bytes of the body have arrived.
    mutating func note(bytes: Int) { freshBytes += bytes }

    /// Begins a rest, if the bytes that arrived since the last call ask for one.
    ///
    /// - Returns: Whether the transfer rests.
    mutating func beginRest() -> Bool {
        defer { freshBytes = 0 }
        guard let delay = pacing?.delay(after: freshBytes) else { return false }
        restsUntil = .now + delay
        return true
    }

    mutating func endRest() { restsUntil = nil }
}
