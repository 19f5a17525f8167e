internal import Fleet
internal import GatewayClient
internal import Locking

/// The feed of a keyspace, without documents, for the leader of a fleet.
struct GatewayFeed: LeaderFeed {
    private static let maxWait: Duration = .seconds(50)

    let gateway: Gateway
    /// Only these Sync Gateway channels. Nil: all channels that this user may read.
    let channels: [String]?
    /// Where an empty log begins.
    let start: SequenceID
    /// Called when the feed was read to its end, and when that is no longer so.
    let noteCaughtUp: @Sendable (_ isCaughtUp: Bool) async -> Void
    /// Records a sequence up to which all changes are answered.
    let save: @Sendable (SequenceID) async throws -> Void
    /// Whether rows report documents to which this user lost access.
    var includesRevocations = false
    /// Called when a request has ended.
    var noteAnswer: @Sendable () -> Void = {}
    /// Called when the database may have been replaced. If it throws, nothing is read, and rows already read are
    /// dropped.
    var confirmDatabase: @Sendable () async throws -> Void = {}
    private let confirmed = Locked<ContinuousClock.Instant?>(nil)

    /// After this time without a request, another member may have read the feed and seen a reset.
    private static let maxPause: Duration = .seconds(5)

    init(
        gateway: Gateway, channels: [String]?, start: SequenceID,
        noteCaughtUp: @escaping @Sendable (_ isCaughtUp: Bool) async -> Void,
        save: @escaping @Sendable (SequenceID) async throws -> Void
    ) {
        (self.gateway, self.channels, self.start) = (gateway, channels, start)
        (self.noteCaughtUp, self.save) = (noteCaughtUp, save)
    }

    func changes(after sequence: String?, limit: Int) async throws -> FeedPart {
        let last = confirmed.withLock { confirmed in
            defer { confirmed = nil }
            return confirmed
        }
        if last.map({ $0.duration(to: .now) > Self.maxPause }) != false { try await confirmDatabase() }
        // If the request fails, the database remains unconfirmed.
        let part = try await read(after: sequence, limit: limit)
        if let sequence, let reached = part.sequence, Self.isFarBehind(reached, sequence) {
            try await confirmDatabase()
        }
        confirmed.withLock { $0 = .now }
        return part
    }

    /// Whether the feed has moved back.
    private static func isFarBehind(_ reached: String, _ since: String) -> Bool {
        guard let reached = SequenceID(reached), let since = SequenceID(since) else { return false }
        return reached.isFarBehind(since)
    }

    private func read(after sequence: String?, limit: Int) async throws -> FeedPart {
        defer { noteAnswer() }
        let since = try sequence.map { text in
            guard let sequence = SequenceID(text) else {
                throw GatewayError(.malformedAnswer, "the fleet's log holds an invalid sequence: \(text)")
            }
            return sequence
        }
        var request = ChangesRequest(
            since: since ?? start, feed: .longpoll(timeout: Self.maxWait), includesDocuments: false, limit: limit,
            filter: channels.map { .channels($0) })
        // The member that decides the change may have rules that resolve conflicts, even if this member has none.
        request.listsAllLeaves = true
        request.includesRevocations = includesRevocations
        var answer = try await gateway.changes(request)
        var entries: [FeedEntry] = []
        var reached: SequenceID?
        var rows = 0
        while let batch = try await answer.next() {
            for change in batch {
                if change.kind == .failure {
                    // The rows after it are missing, whatever the response ends with. The rows before it are valid.
                    guard let reached else {
                        throw GatewayError(
                            .serverError,
                            "\(gateway.url): the feed reports an internal error of the gateway; read the gateway's log")
                    }
                    return FeedPart(entries: entries, sequence: reached.description)
                }
                guard let sequence = change.sequence else { continue }
                rows += 1
                reached = sequence
                if let entry = Self.entry(change, sequence) { entries.append(entry) }
            }
        }
        reached = answer.lastSequence ?? reached
        await noteCaughtUp(rows < limit)
        return FeedPart(entries: entries, sequence: reached == since ? nil : reached?.description)
    }

    /// Nil for a row that no rule can match.
    private static func entry(_ change: Change, _ sequence: SequenceID) -> FeedEntry? {
        switch change.kind {
        case .document, .withoutBody, .malformed, .tombstone, .removed, .revoked:
            guard !change.id.text.isEmpty else { return nil }
            return FeedEntry(
                sequence: sequence.description, id: DocumentKey(change.id.text),
                revision: change.revision?.text ?? "", otherLeaves: change.revisions.dropFirst().map(\.text),
                isDeleted: change.kind == .tombstone,
                // For rules with `leave`, which the member that decides the change may have.
                isLost: change.kind == .removed || change.kind == .revoked)
        case .principal, .failure: return nil
        }
    }

    func savedAnsweredSequence() async throws -> String? { start == .start ? nil : start.description }

    func saveAnsweredSequence(_ sequence: String) async throws {
        if let sequence = SequenceID(sequence) { try await save(sequence) }
    }
}
