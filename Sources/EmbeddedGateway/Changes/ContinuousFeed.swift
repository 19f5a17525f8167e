internal import HTTPServing

/// `feed=continuous`: one object per line, and an empty line whenever all changes were sent, until the limit, the
/// timeout or the end of the connection.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1; the end has no `last_seq` line.
struct ContinuousFeed {
    private let store: Store
    private let accounts: Accounts
    private var asked: FeedRequest
    private let send: Answer.Send
    private var looked: FeedPosition
    private var left: Int?
    private static let lineFeed = [UInt8(ascii: "\n")]

    init(_ store: Store, _ accounts: Accounts, _ asked: FeedRequest, _ send: @escaping Answer.Send) {
        self.store = store
        self.accounts = accounts
        self.asked = asked
        self.send = send
        looked = asked.since
        left = asked.limit
    }

    mutating func run() async throws {
        let send = send
        var wait = FeedWait(asked, store.signal)
        if try await !sendChanges() { try await send(Self.lineFeed) }
        while left != 0 {
            try await send(Self.lineFeed)
            repeat {
                let isDue = try await wait.forChange(past: looked.plainSequence) {
                    try await send(Self.lineFeed)
                }
                guard isDue else { return }
            } while try await !sendChanges()
            wait.restart()
        }
    }

    /// Sends the changes that exist now.
    ///
    /// - Returns: Whether there was anything.
    private mutating func sendChanges() async throws -> Bool {
        let end = store.signal.lastSequence
        asked.selection.visitor = accounts.refreshed(asked.selection.visitor)
        var reader = FeedPages(store, asked, since: looked, through: end, limit: left, separator: "")
        while !reader.isDone {
            let page = try reader.next()
            if page.count > 0 { try await send(page.text) }
            looked = page.last
        }
        left = left.map { $0 - reader.count }
        if left != 0 { looked = max(looked, FeedPosition(end)) }
        return reader.count > 0
    }
}
