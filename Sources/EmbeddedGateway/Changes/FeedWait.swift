/// The silence of one feed: how long it may last, and what is said in it.
struct FeedWait {
    private let clock = ContinuousClock()
    private let timeout: Duration?
    private let heartbeat: Duration?
    private var deadline: ContinuousClock.Instant?

    init(_ asked: ChangesRequest) {
        timeout = asked.timeout
        heartbeat = asked.heartbeat
        restart()
    }

    /// Begins the silence anew.
    mutating func restart() { deadline = timeout.map { clock.now.advanced(by: $0) } }

    /// Waits for a change above `sequence`, with a heartbeat now and then if one was asked for.
    ///
    /// - Returns: False if the time is over.
    /// - Throws: `CancellationError`, or what `beat` throws.
    func forChange(past sequence: Int, _ signal: ChangeSignal, _ beat: () async throws -> Void) async throws -> Bool {
        guard let heartbeat else { return try await signal.wait(past: sequence, until: deadline) }
        while try await !signal.wait(past: sequence, until: clock.now.advanced(by: heartbeat)) { try await beat() }
        return true
    }
}
