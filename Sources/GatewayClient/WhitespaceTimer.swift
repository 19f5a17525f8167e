/// Detects a server that sends only white space, which keeps a transfer alive without any progress.
struct WhitespaceTimer {
    private let limit: Duration
    private var since = ContinuousClock.now

    init(limit: Duration) { self.limit = limit }

    /// Records a chunk that has arrived.
    ///
    /// - Returns: Whether only white space has arrived for longer than the limit.
    mutating func isOver(_ chunk: [UInt8]) -> Bool {
        guard chunk.allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }) else {
            since = .now
            return false
        }
        return since.duration(to: .now) > limit
    }
}
