/// How long a transfer rests before its socket is read again, so that an answer which comes in small pieces wakes
/// nobody for each of them.
///
/// The first bytes after a quiet moment are delivered at once. What comes after them gathers in the system's buffer:
/// for 1 ms at first, then for as long as 48 KiB take to arrive, but never longer than the request allows. An answer
/// that goes on slowly may rest for a fiftieth of the time that it has been resting. A fast answer is not slowed down:
/// it has no rests at all.
struct ReadPacing: Sendable {
    /// What a read after a rest should bring. A socket's receive buffer holds more (64 KiB at first on Linux), so the
    /// sender need not wait for a transfer that rests.
    static let wantedBytes = 48 << 10
    static let shortestRest: Duration = .milliseconds(1)

    private let longestRests: ClosedRange<Duration>
    /// Nil after a quiet moment, and after a read that needs no rest.
    private var lastRest: Duration?
    /// All rests since then.
    private var rested: Duration = .zero

    /// - Parameter longestRests: The longest rest at first, and after a long time of small pieces.
    init(longestRests: ClosedRange<Duration>) { self.longestRests = longestRests }

    /// After a read, or after a rest: how long to rest now. Nil: not at all.
    ///
    /// - Parameter bytes: What has come since the last call.
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
