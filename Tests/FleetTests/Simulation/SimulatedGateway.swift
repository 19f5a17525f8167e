import Fleet

/// A gateway with revisions, conflicts and a feed; and a receiver of webhooks.
final class SimulatedGateway: @unchecked Sendable {
    struct Document: Sendable {
        /// 1 after its creation; a write must name the current one.
        var generation: Int
        /// Increased by users.
        var question: Int
        /// The copy of `question` that rules write.
        var answer: Int
        var sequence: Int
    }

    private(set) var documents: [Document?]
    /// The document of each change; the change after sequence `i` is at `i`.
    private(set) var feed: [Int] = []
    /// For each document the highest question that the receiver got.
    private(set) var told: [Int]
    private(set) var webhooks = 0
    private(set) var conflicts = 0
    var savedAnsweredSequence: String?

    init(documents count: Int) {
        documents = Array(repeating: nil, count: count)
        told = Array(repeating: 0, count: count)
    }

    /// A user's write, which always succeeds.
    func ask(_ number: Int) {
        var document = documents[number] ?? Document(generation: 0, question: 0, answer: 0, sequence: 0)
        document.question += 1
        store(number, document)
    }

    /// - Returns: Whether `generation` is current.
    func answer(_ number: Int, _ answer: Int, generation: Int) -> Bool {
        guard var document = documents[number], document.generation == generation else {
            conflicts += 1
            return false
        }
        document.answer = answer
        store(number, document)
        return true
    }

    private func store(_ number: Int, _ document: Document) {
        var document = document
        document.generation += 1
        feed.append(number)
        document.sequence = feed.count
        documents[number] = document
    }

    func takeWebhook(_ number: Int, question: Int) {
        webhooks += 1
        told[number] = max(told[number], question)
    }

    /// Like a real feed: only the last change of each document.
    func changes(after sequence: Int, limit: Int) -> FeedPart {
        var entries: [FeedEntry] = []
        var end = sequence
        while end < feed.count, entries.count < limit {
            end += 1
            let number = feed[end - 1]
            guard let document = documents[number], document.sequence == end else { continue }
            entries.append(
                FeedEntry(
                    sequence: "\(end)", id: Self.id(number), revision: "\(document.generation)"))
        }
        return FeedPart(entries: entries, sequence: end == sequence ? nil : "\(end)")
    }

    static func id(_ number: Int) -> DocumentKey { DocumentKey("d\(number)") }
    static func number(_ id: DocumentKey) -> Int { Int(id.text.dropFirst()) ?? 0 }
}

/// The feed as a member reads it.
struct SimulatedFeed: LeaderFeed {
    struct Cut: Error {}
    let gateway: SimulatedGateway
    let route: SimulatedRoute
    let clock: SimulatedClock
    let oracle: Oracle

    func changes(after sequence: String?, limit: Int) async throws -> FeedPart {
        let from = Int(sequence ?? "0") ?? 0
        for isLast in [false, true] {
            let answer = await route.call { [gateway] in gateway.changes(after: from, limit: limit) }
            guard case .success(let part) = answer else { throw Cut() }
            if isLast || part.sequence != nil { return part }
            try await clock.sleep(for: .milliseconds(500))
        }
        return FeedPart(entries: [], sequence: nil)
    }

    func savedAnsweredSequence() async throws -> String? {
        guard case .success(let answered) = await route.call({ [gateway] in gateway.savedAnsweredSequence }) else {
            throw Cut()
        }
        return answered
    }

    func saveAnsweredSequence(_ sequence: String) async throws {
        guard
            case .success = await route.call({ [gateway, oracle] in
                oracle.recordsAnswered(sequence)
                gateway.savedAnsweredSequence = sequence
            })
        else {
            throw Cut()
        }
    }
}
