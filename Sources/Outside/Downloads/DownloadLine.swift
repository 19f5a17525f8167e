internal import Rules

/// What documents that were sent away need, in the order in which they asked.
struct DownloadLine {
    struct Want: Hashable {
        let request: DownloadRequest
        let document: String
    }

    /// The most that is remembered.
    private static let limit = 10_000

    /// Those that have left are nil.
    private var line: [Want?] = []
    /// The number of the first one of ``line``.
    private var base = 0
    private var numbers: [Want: Int] = [:]

    var count: Int { numbers.count }

    /// Takes one in, unless it is there already or the line is too long.
    ///
    /// - Returns: How many are before it.
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
        // Not each time: all others are moved.
        guard gone > line.count / 2 else { return }
        line.removeFirst(gone)
        base += gone
    }

    /// The first one for which this is true.
    func first(where isMet: (Want) -> Bool) -> Want? {
        for case .some(let want) in line where isMet(want) { return want }
        return nil
    }
}
