internal import HTTPServing

/// `feed=continuous`: one object per line, and an empty line whenever all changes were sent, until the limit, the
/// timeout or the end of the connection.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1; the end has no `last_seq` line.
struct ContinuousFeed {
    private let store: Store
    private let accounts: Accounts
    private var parameters: FeedRequest
    private let send: Answer.Send
    private var checkedPosition: FeedPosition
    private var remaining: Int?
    private static let lineFeed = [UInt8(ascii: "\n")]

    init(_ store: Store, _ accounts: Accounts, _ parameters: FeedRequest, _ send: @escaping Answer.Send) {
        self.store = store
        self.accounts = accounts
        self.parameters = parameters
        self.send = send
        checkedPosition = parameters.since
        remaining = parameters.limit
    }

    mutating func run() async throws {
        let send = send
        var wait = FeedWait(parameters, store.signal)
        if try await !sendChanges() { try await send(Self.lineFeed) }
        while remaining != 0 {
            try await send(Self.lineFeed)
            repeat {
                let isDue = try await wait.forChange(past: checkedPosition.plainSequence) {
                    try await send(Self.lineFeed)
                }
                guard isDue else { return }
            } while try await !sendChanges()
            wait.restart()
        }
    }

    /// Sends the changes that exist now.
    ///
    /// - Returns: Whether there were any.
    private mutating func sendChanges() async throws -> Bool {
        let end = store.signal.lastSequence
        parameters.selection.requestUser = accounts.refreshed(parameters.selection.requestUser)
        var reader = FeedPages(store, parameters, since: checkedPosition, through: end, limit: remaining, separator: "")
        while !reader.isDone {
            let page = try reader.next()
            if page.count > 0 { try await send(page.text) }
            checkedPosition = page.last
        }
        remaining = remaining.map { $0 - reader.count }
        if remaining != 0 { checkedPosition = max(checkedPosition, FeedPosition(end)) }
        return reader.count > 0
    }
}
