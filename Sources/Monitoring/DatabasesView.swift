internal import Encodings
package import LosslessJSON

/// The databases of a bot that follows many.
package struct DatabasesView: Sendable {
    /// What a bot does with a database.
    package enum State: String, Sendable, CaseIterable {
        /// Nothing has changed.
        case quiet
        /// It is open.
        case working
        /// It waits for its turn.
        case waiting
        /// It can't be used. It is tried again later.
        case skipped
    }

    /// One database.
    package struct Entry: Sendable {
        package let name: String
        package var state = State.quiet
        /// Since when it is in this state, in seconds since 1970. Nil: since before the start.
        package var since: Int?
        /// Why it is skipped.
        package var reason: String?
        package var deadLetters = 0
        /// When its next timer or pass is due, in seconds since 1970. Nil: never.
        package var wakeAt: Int?

        /// A quiet database.
        package init(_ name: String) { self.name = name }

        /// Whether this database needs more attention than another one: skipped ones first, then those with the most dead
        /// letters, then those that have waited longest.
        fileprivate func isWorse(than other: Entry) -> Bool {
            func rank(_ entry: Entry) -> (Int, Int, Int, String) {
                let isSkipped = entry.state == .skipped
                let isLate = isSkipped || entry.state == .waiting
                return (isSkipped ? 0 : 1, -entry.deadLetters, isLate ? entry.since ?? 0 : .max, entry.name)
            }
            return rank(self) < rank(other)
        }

        fileprivate var needsAttention: Bool { state == .skipped || state == .waiting || deadLetters > 0 }

        /// One JSON object.
        func write(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("name", string: name)
                writer.member("state", string: state.rawValue)
                writer.member("since", optional: since.map { Timestamp.text($0) })
                writer.member("reason", optional: reason)
                writer.member("dead_letters", integer: deadLetters)
                writer.member("next_timer", optional: wakeAt.map { Timestamp.text($0) })
            }
        }
    }

    /// How many databases are in each state.
    package private(set) var counts: [State: Int] = [:]
    /// Their open dead letters.
    package private(set) var deadLetters = 0
    /// Those that need attention, the worst first; at most ``limit``.
    package private(set) var worst: [Entry] = []
    /// The most databases that are shown by name.
    package static let limit = 10

    /// - Parameter entries: All databases.
    package init(_ entries: some Sequence<Entry>) {
        var worst: [Entry] = []
        for entry in entries {
            counts[entry.state, default: 0] += 1
            deadLetters += entry.deadLetters
            if entry.needsAttention { worst.append(entry) }
        }
        self.worst = Array(worst.sorted { $0.isWorse(than: $1) }.prefix(Self.limit))
    }

    /// The number of all databases.
    package var total: Int { counts.values.reduce(0, +) }

    /// One JSON object.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("total", integer: total)
            for state in State.allCases { writer.member(state.rawValue, integer: counts[state] ?? 0) }
            writer.member("dead_letters", integer: deadLetters)
            writer.name("worst")
            writer.array { writer in for entry in worst { entry.write(to: &writer) } }
        }
    }
}
