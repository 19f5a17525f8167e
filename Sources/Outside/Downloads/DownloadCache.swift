internal import BotState
internal import Rules

/// Recent downloads, within a limit of bytes. A value without a clock: the caller passes the time.
struct DownloadCache: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Key: Hashable, Sendable {
        let url: String
        /// Part of the key, because a server may return other content to another client. Empty: without a token.
        let client: String

        init(url: String, client: String) { (self.url, self.client) = (url, client) }

        init(_ request: DownloadRequest) { self.init(url: request.url, client: request.client) }
    }

    struct Entry: Sendable {
        var record: DownloadRecord
        /// Nil: the server answered 304, so only the record is known.
        var content: AttachmentContent?
        /// The server is not asked again before this time.
        var freshUntil: Instant
        fileprivate var lastUse = 0
    }

    /// Bytes of base64. The newest content is always kept.
    private static let byteLimit = 16 << 20
    private static let countLimit = 10_000

    private var entries: [Key: Entry] = [:]
    private var uses = 0
    private(set) var bytes = 0

    /// The entry, which counts as used now.
    mutating func entry(_ key: Key) -> Entry? {
        guard var entry = entries[key] else { return nil }
        uses += 1
        entry.lastUse = uses
        entries[key] = entry
        return entry
    }

    mutating func insert(_ record: DownloadRecord, _ content: AttachmentContent?, freshUntil: Instant, _ key: Key) {
        remove(key)
        bytes += content?.base64.count ?? 0
        while bytes > Self.byteLimit || entries.count >= Self.countLimit,
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            remove(oldest.key)
        }
        uses += 1
        entries[key] = Entry(record: record, content: content, freshUntil: freshUntil, lastUse: uses)
    }

    mutating func refresh(_ key: Key, until: Instant) { entries[key]?.freshUntil = until }

    mutating func remove(_ key: Key) { bytes -= entries.removeValue(forKey: key)?.content?.base64.count ?? 0 }
}
