package import GatewayClient

/// A checkpoint as it was saved, or that there is none any more.
package struct CheckpointEntry: Sendable, Equatable {
    package let number: Int
    /// Nil: the checkpoint was taken away.
    package let sequence: SequenceID?
    /// The rules that were in force then, or at the checkpoint before if none were; empty if none ever were.
    package let ruleSetHash: String
    /// UTC (RFC 3339).
    package let savedAt: String
    /// Nil: work went on.
    package let reason: String?
}

/// Which old checkpoints are worth keeping. A run saves one every second.
enum CheckpointHistory {
    /// What the choice depends on.
    struct Item {
        let number: Int
        let savedAt: String
        /// What tells one run from another.
        let run: String
        let hasReason: Bool
    }

    /// At most so many are kept of each kind; together with the newest, 101.
    private static let reasons = 40
    private static let runEnds = 20
    private static let hours = 20
    private static let days = 20

    /// The numbers of those that can go. Kept are the newest, those with a reason, the first and the last of each run,
    /// and the last of each hour and of each day.
    ///
    /// - Parameter items: Newest first.
    static func superfluous(_ items: [Item]) -> [Int] {
        var kept: Set<Int> = []
        func keep(_ candidates: some Sequence<Item>, atMost limit: Int) {
            kept.formUnion(candidates.prefix(limit).map(\.number))
        }
        keep(items, atMost: 1)
        keep(items.lazy.filter(\.hasReason), atMost: reasons)
        let ends = items.indices.filter { index in
            index == 0 || items[index - 1].run != items[index].run || index == items.count - 1
                || items[index + 1].run != items[index].run
        }
        keep(ends.map { items[$0] }, atMost: runEnds)
        // `2026-11-20T10:00:00Z`
        keep(newest(items, ofEach: "2026-11-20T10".utf8.count), atMost: hours)
        keep(newest(items, ofEach: "2026-11-20".utf8.count), atMost: days)
        return items.map(\.number).filter { !kept.contains($0) }
    }

    /// The newest of those whose times begin alike.
    private static func newest(_ items: [Item], ofEach length: Int) -> [Item] {
        items.indices.filter { index in
            index == 0 || items[index - 1].savedAt.prefix(length) != items[index].savedAt.prefix(length)
        }.map { items[$0] }
    }
}
