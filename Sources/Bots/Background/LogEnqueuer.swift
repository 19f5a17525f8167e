internal import Delivery
internal import Fleet
internal import GatewayClient
internal import Locking

/// Enqueues documents for the owner of their partition, through the log.
final class LogEnqueuer: CandidateEnqueuer {
    private static let interval: Duration = .milliseconds(250)

    private let term: LeaderTerm
    /// The log position of the last document that was enqueued.
    private let lastPosition = Locked<Int64>(0)

    /// Valid until the term ends.
    init(_ term: LeaderTerm) { self.term = term }

    let isDurable = true

    func room() async throws -> Bool { try await term.hasRoom() }

    func enqueue(_ candidates: [Candidate]) async throws -> Int {
        let times = Set(candidates.filter(\.reason.isTimer).map { DocumentKey($0.id.text) })
        let counted = Set(candidates.filter { !$0.reason.isTimer }.map { DocumentKey($0.id.text) })
        let entries = times.sorted().map { FeedEntry(.due, $0) } + counted.sorted().map { FeedEntry(.uncounted, $0) }
        guard !entries.isEmpty else { return 0 }
        let n = try await term.append(entries)
        lastPosition.withLock { $0 = n }
        return entries.count
    }

    func waitUntilSettled() async throws -> Bool {
        try await Task.sleep(for: Self.interval)
        return try await term.hasPassed(lastPosition.withLock(\.self))
    }
}
