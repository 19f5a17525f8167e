/// Notices that a server sends nothing but white space: that keeps a transfer alive, and tells nothing.
struct BlankTimer {
    private let limit: Duration
    private var since = ContinuousClock.now

    init(limit: Duration) { self.limit = limit }

    /// Takes notice of what has arrived.
    ///
    /// - Returns: Whether only white space has come for too long.
    mutating func isOver(_ chunk: [UInt8]) -> Bool {
        guard chunk.allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }) else {
            since = .now
            return false
        }
        return since.duration(to: .now) > limit
    }
}
