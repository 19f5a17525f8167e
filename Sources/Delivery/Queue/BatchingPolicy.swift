/// Decides when an idle writer may take candidates: Nagle's algorithm (RFC 896) for documents.
///
/// A run that waits for changes writes each at once, in at most two concurrent requests: more would only compete for a
/// slow gateway. A run that reads a backlog gathers: one writer takes whatever is ready, and the others take only
/// batches that are worth a request. So requests grow while a gateway is slow, and all writers work once there is
/// enough to do.
struct BatchingPolicy: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// How many concurrent requests a run that waits for changes makes before it gathers.
    static let requestsAtOnce = 2
    /// This many candidates are worth a request, whatever is in flight.
    static let worthwhileDocuments = 125
    /// This many bytes of candidates are worth a request.
    static let worthwhileBytes = 1 << 20
    /// Candidates that arrive this long after the last request began do not wait for its answer.
    static let maxGatheringTime: Duration = .seconds(1)

    /// Whether candidates are gathered because more will follow at once.
    var gathers = false
    /// Writers that have taken candidates and not settled them.
    private var busyWriters: Set<Int> = []
    private var lastTaken: Instant?

    /// - Parameter bytes: The total size of the available candidates.
    func mayTake(documents: Int, bytes: Int, now: Instant) -> Bool {
        guard busyWriters.count >= (gathers ? 1 : Self.requestsAtOnce), let lastTaken else { return true }
        return documents >= Self.worthwhileDocuments || bytes >= Self.worthwhileBytes
            || lastTaken.duration(to: now) >= Self.maxGatheringTime
    }

    mutating func noteTaken(writer: Int, now: Instant) {
        busyWriters.insert(writer)
        lastTaken = now
    }

    /// The writer has settled what it took.
    mutating func noteSettled(writer: Int) { busyWriters.remove(writer) }
}
