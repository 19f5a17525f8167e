internal import Rules

/// The queue of downloads that deferred documents wait for, in the order of their requests.
struct WaitingDownloads {
    struct Entry: Hashable {
        let request: DownloadRequest
        let document: String
    }

    /// The maximum number of entries.
    private static let limit = 10_000

    /// Removed entries are nil.
    private var entries: [Entry?] = []
    /// The number of the first entry of ``entries``.
    private var base = 0
    private var numbers: [Entry: Int] = [:]

    var count: Int { numbers.count }

    /// Appends an entry, unless it is already in the queue or the queue is full.
    ///
    /// - Returns: How many entries are ahead of it.
    mutating func join(_ entry: Entry) -> Int {
        if let number = numbers[entry] { return number - base }
        guard count < Self.limit else { return count }
        numbers[entry] = base + entries.count
        entries.append(entry)
        return entries.count - 1
    }

    mutating func leave(_ entry: Entry) {
        guard let number = numbers.removeValue(forKey: entry) else { return }
        entries[number - base] = nil
        let gone = entries.prefix { $0 == nil }.count
        // Done rarely, because it moves all other entries.
        guard gone > entries.count / 2 else { return }
        entries.removeFirst(gone)
        base += gone
    }

    /// The first entry that satisfies a condition.
    func first(where isMet: (Entry) -> Bool) -> Entry? {
        for case .some(let entry) in entries where isMet(entry) { return entry }
        return nil
    }
}
