/// The waiting of one feed, with its timeout and heartbeats.
struct FeedWait {
    private let clock = ContinuousClock()
    private let signal: ChangeSignal
    private let endings: Int
    private let timeout: Duration?
    private let heartbeat: Duration?
    private var deadline: ContinuousClock.Instant?

    init(_ parameters: FeedRequest, _ signal: ChangeSignal) {
        self.signal = signal
        endings = signal.endings
        timeout = parameters.timeout
        heartbeat = parameters.heartbeat
        restart()
    }

    /// Restarts the timeout.
    mutating func restart() { deadline = timeout.map { clock.now.advanced(by: $0) } }

    /// Waits for a change above `sequence`, with heartbeats if they were requested.
    ///
    /// - Returns: False at the timeout, or if the feed must end.
    /// - Throws: `CancellationError`, or any error of `beat`.
    func forChange(past sequence: Int, _ beat: () async throws -> Void) async throws -> Bool {
        while signal.endings == endings {
            let end = heartbeat.map { clock.now.advanced(by: $0) } ?? deadline
            if try await signal.wait(past: sequence, until: end) { return signal.endings == endings }
            guard heartbeat != nil, signal.endings == endings else { return false }
            try await beat()
        }
        return false
    }
}
