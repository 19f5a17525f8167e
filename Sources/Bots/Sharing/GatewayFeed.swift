internal import Fleet
internal import GatewayClient
internal import Locking

/// The feed of a keyspace, without documents, for the member of a fleet that leads.
struct GatewayFeed: LeaderFeed {
    private static let longestWait: Duration = .seconds(50)

    let gateway: Gateway
    /// Only these channels of a Sync Gateway. Nil: all that this user may see.
    let channels: [String]?
    /// Where a log without any change begins.
    let start: SequenceID
    /// Told that the feed was read to its end, and that it no longer is.
    let noteCaughtUp: @Sendable (_ isCaughtUp: Bool) async -> Void
    /// Records a sequence up to which all is answered.
    let save: @Sendable (SequenceID) async throws -> Void
    /// Called when a request has ended.
    var noteAnswer: @Sendable () -> Void = {}
    /// Called when the database may be another one now. Nothing is read, or what was read is dropped, if it throws.
    var confirmDatabase: @Sendable () async throws -> Void = {}
    private let confirmed = Locked<ContinuousClock.Instant?>(nil)

    /// After this time without a request, another member may have read the feed and seen a reset.
    private static let longestPause: Duration = .seconds(5)

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
        if last.map({ $0.duration(to: .now) > Self.longestPause }) != false { try await confirmDatabase() }
        // A request that fails leaves it unconfirmed.
        let part = try await read(after: sequence, limit: limit)
        if let sequence, let reached = part.sequence, Self.isFarBehind(reached, sequence) {
            try await confirmDatabase()
        }
        confirmed.withLock { $0 = .now }
        return part
    }

    /// Whether the feed went back.
    private static func isFarBehind(_ reached: String, _ since: String) -> Bool {
        guard let reached = SequenceID(reached), let since = SequenceID(since) else { return false }
        return reached.isFarBehind(since)
    }

    private func read(after sequence: String?, limit: Int) async throws -> FeedPart {
        defer { noteAnswer() }
        let since = try sequence.map { text in
            guard let sequence = SequenceID(text) else {
                throw GatewayError(.malformedAnswer, "the log holds no sequence: \(text)")
            }
            return sequence
        }
        var request = ChangesRequest(
            since: since ?? start, feed: .longpoll(timeout: Self.longestWait), includesDocuments: false, limit: limit,
            filter: channels.map { .channels($0) })
        // The member that decides may have rules that resolve conflicts, whatever this one's are.
        request.listsAllLeaves = true
        var answer = try await gateway.changes(request)
        var entries: [FeedEntry] = []
        var reached: SequenceID?
        var rows = 0
        while let batch = try await answer.next() {
            for change in batch {
                if change.kind == .failure {
                    // The rows behind it are missing, whatever the end of the answer says. Those before it count.
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

    /// Nil for a row that no rule is about.
    private static func entry(_ change: Change, _ sequence: SequenceID) -> FeedEntry? {
        switch change.kind {
        case .document, .withoutBody, .malformed, .tombstone:
            guard !change.id.text.isEmpty else { return nil }
            return FeedEntry(
                sequence: sequence.description, id: DocumentKey(change.id.text),
                revision: change.revision?.text ?? "", otherLeaves: change.revisions.dropFirst().map(\.text),
                isDeleted: change.kind == .tombstone)
        case .principal, .removed, .revoked, .failure: return nil
        }
    }

    func recordedAnswered() async throws -> String? { start == .start ? nil : start.description }

    func recordAnswered(_ sequence: String) async throws {
        if let sequence = SequenceID(sequence) { try await save(sequence) }
    }
}
