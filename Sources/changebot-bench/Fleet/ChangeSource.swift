internal import Foundation
internal import Locking
internal import TestKit

/// Adds rows to a feed at a fixed rate, in a thread of its own.
final class ChangeSource: Sendable {
    let count: Int
    private let rate: Int
    private let database: WireDatabase
    private let changes: AnsweredChanges
    private let isDone = Locked(false)

    /// - Parameters:
    ///   - changes: Told of each row before it is in the feed.
    ///   - rate: Rows a second.
    init(_ database: WireDatabase, _ changes: AnsweredChanges, count: Int, rate: Int) {
        (self.database, self.changes, self.count, self.rate) = (database, changes, count, rate)
    }

    /// Whether all rows are in the feed.
    var isOver: Bool { isDone.withLock { $0 } }

    /// Adds what is due every millisecond.
    func start() {
        startThread { [self] in
            let began = MonotonicTime.nanoseconds
            var posted = 0
            while posted < count {
                let due = min(count, (MonotonicTime.nanoseconds - began) * rate / 1_000_000_000)
                if due > posted {
                    changes.post(database.post(due - posted))
                    posted = due
                }
                usleep(1000)
            }
            isDone.withLock { $0 = true }
        }
    }
}
