internal import Rules

/// The queue of downloads that deferred documents wait for, in the order of their requests.
struct DownloadLine {
    struct Want: Hashable {
        let request: DownloadRequest
        let document: String
    }

    /// The most entries.
    private static let limit = 10_000

    /// Removed entries are nil.
    private var line: [Want?] = []
    /// The number of the first entry of ``line``.
    private var base = 0
    private var numbers: [Want: Int] = [:]

    var count: Int { numbers.count }

    /// Appends an entry, unless it is already in the queue or the queue is full.
    ///
    /// - Returns: How many entries are ahead of it.
    mutating func join(_ want: Want) -> Int {
        if let number = numbers[want] { return number - base }
        guard count < Self.limit else { return count }
        numbers[want] = base + line.count
        line.append(want)
        return line.count - 1
    }

    mutating func leave(_ want: Want) {
        guard let number = numbers.removeValue(forKey: want) else { return }
        line[number - base] = nil
        let gone = line.prefix { $0 == nil }.count
        // Done rarely, because it moves all other entries.
        guard gone > line.count / 2 else { return }
        line.removeFirst(gone)
        base += gone
    }

    /// The first entry that satisfies a condition.
    func first(where isMet: (Want) -> Bool) -> Want? {
        for case .some(let want) in line where isMet(want) { return want }
        return nil
    }
}
