package import GatewayClient

/// One entry of the history: a checkpoint, or its removal.
package struct CheckpointEntry: Sendable, Equatable {
    /// Grows with every entry and is never used again.
    package let number: Int
    /// Nil: the checkpoint was removed.
    package let sequence: SequenceID?
    /// The hash of the rules in force then, or else of those of the entry before; empty if there never were any.
    package let ruleSetHash: String
    /// UTC (RFC 3339).
    package let savedAt: String
    /// Why it was set or removed; nil: saved by a run as it went on.
    package let reason: String?
}

/// Decides which old checkpoints are kept: a run saves one every second.
enum CheckpointHistory {
    /// The facts that the choice depends on.
    struct Item {
        let number: Int
        let savedAt: String
        /// Distinguishes runs.
        let run: String
        let hasReason: Bool
    }

    /// The most entries that are kept of each kind; with the newest one, 101 in all.
    private static let reasons = 40
    private static let runEnds = 20
    private static let hours = 20
    private static let days = 20

    /// The numbers of the entries to delete. Kept are the newest, those with a reason, the first and the last of each
    /// run, and the last of each hour and of each day.
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

    /// The newest item of each group whose times share a prefix of this length.
    private static func newest(_ items: [Item], ofEach length: Int) -> [Item] {
        items.indices.filter { index in
            index == 0 || items[index - 1].savedAt.prefix(length) != items[index].savedAt.prefix(length)
        }.map { items[$0] }
    }
}
