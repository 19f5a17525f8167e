/// How long a transfer rests before its socket is read again, so that an answer in small pieces does not wake a reader
/// for each of them.
///
/// The first bytes after a pause are delivered immediately. Later bytes accumulate in the system's buffer: for 1 ms at
/// first, then for as long as 48 KiB take to arrive, but never longer than the request allows. A slow, long answer may
/// rest for a fiftieth of its total rest time. A fast answer is not slowed down: it does not rest.
struct ReadPacing: Sendable {
    /// The desired bytes per read after a rest. A socket's receive buffer is larger (64 KiB at first on Linux), so the
    /// sender need not wait for a resting transfer.
    static let wantedBytes = 48 << 10
    static let shortestRest: Duration = .milliseconds(1)

    private let longestRests: ClosedRange<Duration>
    /// Nil after a pause, and after a read that needs no rest.
    private var lastRest: Duration?
    /// The total of all rests since then.
    private var rested: Duration = .zero

    /// - Parameter longestRests: The longest rest at first, and after a long time of small pieces.
    init(longestRests: ClosedRange<Duration>) { self.longestRests = longestRests }

    /// How long to rest after a read or a rest. Nil: not at all.
    ///
    /// - Parameter bytes: The number of bytes received since the last call.
    mutating func rest(after bytes: Int) -> Duration? {
        lastRest = next(after: bytes)
        rested = lastRest.map { rested + $0 } ?? .zero
        return lastRest
    }

    private func next(after bytes: Int) -> Duration? {
        guard bytes > 0 else { return nil }
        let longestRest = min(max(longestRests.lowerBound, rested / 50), longestRests.upperBound)
        guard let lastRest else { return bytes < Self.wantedBytes ? min(Self.shortestRest, longestRest) : nil }
        let wanted = lastRest * (Double(Self.wantedBytes) / Double(bytes))
        return wanted < Self.shortestRest ? nil : min(wanted, lastRest * 2, longestRest)
    }
}
