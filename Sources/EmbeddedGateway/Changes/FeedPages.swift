/// Reads a feed page by page, up to a fixed last sequence.
struct FeedPages {
    private let store: Store
    private let parameters: FeedRequest
    private let end: Int
    /// The maximum number of rows. Nil for no limit.
    private let limit: Int?
    private let grants: [String: Int]?
    private let separator: String
    /// The remaining changes if only some channels are shown. Nil before the first page.
    private var due: ArraySlice<ChannelChange>?
    private var position: FeedPosition
    private var isFirst = true
    /// The number of rows read so far.
    private(set) var count = 0
    /// Whether everything was read, or the limit is reached.
    private(set) var isDone = false

    init(
        _ store: Store, _ parameters: FeedRequest, since: FeedPosition, through end: Int, limit: Int?, separator: String
    ) {
        self.store = store
        self.parameters = parameters
        self.end = end
        self.limit = limit
        self.separator = separator
        grants = parameters.selection.grants
        position = since
    }

    mutating func next() throws -> ChangesPage {
        let room = limit.map { $0 - count }
        let page = try page(room)
        isFirst = isFirst && page.count == 0
        count += page.count
        position = page.last
        isDone = page.isLast || count == limit
        return page
    }

    private mutating func page(_ room: Int?) throws -> ChangesPage {
        guard let grants else {
            return try store.changes(
                since: position, through: end, limit: room, parameters.selection, separator: separator,
                isFirst: isFirst)
        }
        var due = due ?? []
        if self.due == nil {
            due = try store.channelChanges(since: position, through: end, parameters.selection, grants)[...]
        }
        let (page, used) = try store.page(
            of: due, limit: room, parameters.selection, since: position, separator: separator, isFirst: isFirst)
        self.due = due.dropFirst(used)
        return page
    }
}
