/// Decides when an idle writer may take candidates: Nagle's algorithm (RFC 896) for documents.
///
/// A run that waits for changes writes each at once, in two requests side by side: more would only compete for a gateway
/// that is slow already. A run that reads a backlog gathers: one writer takes whatever there is. Others take only what
/// is worth a request of its own. So requests grow while a gateway is slow, and all writers work once there is enough
/// for them.
struct TakingRule: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// How many requests a run that waits for changes has under way without gathering.
    static let requestsAtOnce = 2
    /// This many candidates are worth a request, whatever is in flight.
    static let worthwhileDocuments = 125
    /// This many bytes of candidates are worth a request.
    static let worthwhileBytes = 1 << 20
    /// What arrives this long after the last request began is not held back for its answer.
    static let longestGathering: Duration = .seconds(1)

    /// Whether candidates are gathered: more of them will come at once.
    var gathers = false
    /// Writers that have taken candidates and not come back.
    private var busyWriters: Set<Int> = []
    private var lastTake: Instant?

    /// - Parameter bytes: The size of the candidates that can be taken.
    func mayTake(documents: Int, bytes: Int, now: Instant) -> Bool {
        guard busyWriters.count >= (gathers ? 1 : Self.requestsAtOnce), let lastTake else { return true }
        return documents >= Self.worthwhileDocuments || bytes >= Self.worthwhileBytes
            || lastTake.duration(to: now) >= Self.longestGathering
    }

    mutating func noteTake(writer: Int, now: Instant) {
        busyWriters.insert(writer)
        lastTake = now
    }

    /// The writer has settled what it took.
    mutating func noteReturn(writer: Int) { busyWriters.remove(writer) }
}
