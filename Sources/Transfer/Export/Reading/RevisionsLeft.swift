internal import DocumentFlow
internal import GatewayClient

/// The revisions of a request that have not arrived yet.
struct RevisionsLeft {
    /// Requests that return nothing before the next one asks for fewer.
    private static let failuresBeforeHalving = 3

    private var keys: ArraySlice<BulkGetKey>
    /// Revisions per request.
    private var size: Int
    private let retryFor: Duration
    private var suspect: SuspectRequest
    private var failures = 0
    /// Why bodies could not be read, by document; under nil for those whose document is not known.
    private var reasons: [DocumentID?: String] = [:]

    init(_ keys: [BulkGetKey], retryFor: Duration) {
        self.keys = keys[...]
        self.retryFor = retryFor
        size = max(1, keys.count)
        suspect = SuspectRequest(retryFor: retryFor)
    }

    var isEmpty: Bool { keys.isEmpty }
    var last: BulkGetKey? { keys.last }
    /// The revisions to request next.
    var next: [BulkGetKey] { Array(keys.prefix(size)) }

    /// Notes that a revision has arrived. Without a revision: all of this document.
    mutating func noteArrival(of key: BulkGetKey) {
        guard key.revision != nil else { return keys.removeAll { $0.id == key.id } }
        // They mostly arrive in the order of the request.
        if keys.first == key { keys.removeFirst() } else { keys.removeAll { $0 == key } }
    }

    /// Whether any of the requested revisions have arrived.
    func hasProgressed(since asked: [BulkGetKey]) -> Bool { next != asked }

    func unanswered(of asked: [BulkGetKey]) -> [BulkGetKey] { asked.filter { keys.contains($0) } }

    /// Removes revisions that need not be requested again.
    mutating func remove(_ asked: [BulkGetKey]) {
        keys.removeAll { asked.contains($0) }
        noteSuccess()
    }

    mutating func note(_ damage: BulkGetDamage) { reasons[damage.id] = damage.reason }

    func reason(for key: BulkGetKey) -> String {
        reasons[key.id] ?? reasons[nil] ?? "the gateway does not answer for this revision"
    }

    // MARK: - Failures

    mutating func noteSuccess() {
        size = min(size * 2, max(1, keys.count))
        (failures, suspect) = (0, SuspectRequest(retryFor: retryFor))
    }

    mutating func noteOutage() { suspect.noteOutage() }

    mutating func noteFailure(_ error: GatewayError, successes: Int) {
        failures += 1
        suspect.noteFailure(error, successes: successes)
    }

    var isToHalve: Bool { failures >= Self.failuresBeforeHalving }
    var mustGiveUp: Bool { suspect.mustGiveUp }

    mutating func halve() {
        size = max(1, min(size, keys.count) / 2)
        // Smaller requests get fewer tries, because the first failures were already waited for.
        failures = size > 1 ? Self.failuresBeforeHalving - 1 : 0
        suspect = SuspectRequest(retryFor: retryFor)
    }

    mutating func wait(after error: GatewayError) -> Duration { suspect.wait(after: error) }
}
