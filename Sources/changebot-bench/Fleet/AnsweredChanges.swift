internal import Fleet
internal import Locking

/// Which changes of a feed are answered: those up to the positions of their partitions.
///
/// Each row of the feed is a change of its own document, so the places in the log are the numbers of the rows.
final class AnsweredChanges: Sendable {
    private struct State {
        /// For each partition the places that are not answered, in order, and how many of them are answered by now.
        var places: [(open: [Int64], answered: Int)]
        /// When each change was in the feed, in nanoseconds; the first is that of place 1.
        var posted: [Int] = []
        var answered = 0
        /// In milliseconds.
        var latencies: [Double] = []
        var longest = 0
    }

    private let state: Locked<State>
    private let before: Int

    /// - Parameter before: How many changes the log had before the first one.
    init(partitions: Int, before: Int = 0) {
        self.before = before
        state = Locked(State(places: Array(repeating: ([], 0), count: partitions)))
    }

    /// Adds changes that are in the feed now.
    ///
    /// - Parameter rows: Their numbers, which follow those before.
    func post(_ rows: Range<Int>) {
        let now = MonotonicTime.nanoseconds
        state.withLock { state in
            for row in rows {
                state.posted.append(now)
                let id = DocumentKey(WireRows.id(row))
                let partition = Partitioning.partition(of: id, among: state.places.count)
                state.places[partition].open.append(Int64(before + state.posted.count))
            }
        }
    }

    /// Takes in the positions of all partitions as they are now.
    func take(_ positions: [Int64]) {
        let now = MonotonicTime.nanoseconds
        state.withLock { state in
            state.longest = max(state.longest, state.posted.count - state.answered)
            for (partition, position) in positions.enumerated() {
                var (open, answered) = state.places[partition]
                state.places[partition].open = []
                while answered < open.count, open[answered] <= position {
                    state.latencies.append(Double(now - state.posted[Int(open[answered]) - before - 1]) / 1e6)
                    answered += 1
                    state.answered += 1
                }
                if answered > 10_000 {
                    open.removeFirst(answered)
                    answered = 0
                }
                state.places[partition] = (open, answered)
            }
        }
    }

    /// How many changes wait: in the feed, in the log, or in work.
    var waiting: Int { state.withLock { $0.posted.count - $0.answered } }

    /// How many waited at most.
    var mostWaiting: Int { state.withLock(\.longest) }

    /// Of changes that are answered, in milliseconds.
    func latency(percentile: Int) -> Double {
        state.withLock { state in
            let sorted = state.latencies.sorted()
            return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * percentile / 100)]
        }
    }
}
