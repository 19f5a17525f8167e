/// The counts of a run so far.
package struct RunCounters: Sendable, Equatable {
    /// Documents that a dry run would have written, counted as ``RunCounters/written``.
    package struct Preview: Sendable, Equatable {
        package var written = 0
        /// The tombstones among these.
        package var deleted = 0
    }

    /// What rules did outside the gateway.
    package struct Outside: Sendable, Equatable {
        /// Lines that rules emitted.
        package var lines = 0
        /// Events that their receivers accepted.
        package var accepted = 0
        /// Events that became dead letters.
        package var refused = 0
    }

    /// What rules did, by their names.
    package struct Rules: Sendable, Equatable {
        /// How often each rule fired.
        package var fired: [String: Int] = [:]
        /// How many documents each rule with `changed`, `enter` or `leave` learned, in a pass that only learns.
        package var learned: [String: Int] = [:]
    }

    /// What was exchanged with the gateway. Byte counts include bodies, not headers.
    package struct Traffic: Sendable, Equatable {
        /// Bytes of the rows and documents that were read.
        package var bytesIn = 0
        /// Bytes of the documents that the gateway accepted.
        package var bytesOut = 0
        /// Answered requests that write documents: `_bulk_docs`, and `PUT`s of single documents.
        package var writeRequests = 0
        /// Requests sent again.
        package var retries = 0
    }

    /// Rows of the feed, or documents of a full pass.
    package var changes = 0
    /// Changes on which at least one rule fired or failed.
    package var matched = 0
    /// Documents that the gateway accepted, including deletions and documents that rules `put`.
    package var written = 0
    /// The tombstones among these.
    package var deleted = 0
    package var preview = Preview()
    /// Matching documents that needed no change.
    package var unchanged = 0
    /// Writes refused as conflicts. Every attempt counts.
    package var conflicts = 0
    /// Documents that the gateway refused permanently.
    package var rejected = 0
    /// Dead-lettered changes, including those whose write the gateway refused.
    package var deadLetters = 0
    package var outside = Outside()
    package var traffic = Traffic()
    package var rules = Rules()

    /// All counters at zero.
    package init() {}

    /// The counters that every run has, in order, with their names in JSON. For the summary and the status.
    package static let members: [(name: String, count: @Sendable (RunCounters) -> Int)] = [
        ("changes", { $0.changes }), ("matched", { $0.matched }), ("written", { $0.written }),
        ("deleted", { $0.deleted }), ("unchanged", { $0.unchanged }), ("conflicts", { $0.conflicts }),
        ("rejected", { $0.rejected }), ("dead_letters", { $0.deadLetters }), ("emitted", { $0.outside.lines }),
        ("webhooks_sent", { $0.outside.accepted }), ("webhooks_refused", { $0.outside.refused }),
        ("retries", { $0.traffic.retries }),
        ("write_requests", { $0.traffic.writeRequests }), ("bytes_in", { $0.traffic.bytesIn }),
        ("bytes_out", { $0.traffic.bytesOut }),
    ]

    /// Adds the counts of further requests: `written`, `deleted`, `writeRequests`, `bytesOut` and `retries`.
    package mutating func addSent(_ more: RunCounters) {
        written += more.written
        deleted += more.deleted
        traffic.writeRequests += more.traffic.writeRequests
        traffic.bytesOut += more.traffic.bytesOut
        traffic.retries += more.traffic.retries
    }

    /// Adds the counts of another run.
    package mutating func add(_ more: RunCounters) {
        addSent(more)
        changes += more.changes
        matched += more.matched
        preview.written += more.preview.written
        preview.deleted += more.preview.deleted
        unchanged += more.unchanged
        conflicts += more.conflicts
        rejected += more.rejected
        deadLetters += more.deadLetters
        outside.lines += more.outside.lines
        outside.accepted += more.outside.accepted
        outside.refused += more.outside.refused
        traffic.bytesIn += more.traffic.bytesIn
        rules.fired.merge(more.rules.fired, uniquingKeysWith: +)
        rules.learned.merge(more.rules.learned, uniquingKeysWith: +)
    }

    /// The counts since `earlier`.
    package func difference(from earlier: RunCounters) -> RunCounters {
        var difference = RunCounters()
        difference.changes = changes - earlier.changes
        difference.matched = matched - earlier.matched
        difference.written = written - earlier.written
        difference.deleted = deleted - earlier.deleted
        difference.preview.written = preview.written - earlier.preview.written
        difference.preview.deleted = preview.deleted - earlier.preview.deleted
        difference.unchanged = unchanged - earlier.unchanged
        difference.conflicts = conflicts - earlier.conflicts
        difference.rejected = rejected - earlier.rejected
        difference.deadLetters = deadLetters - earlier.deadLetters
        difference.outside.lines = outside.lines - earlier.outside.lines
        difference.traffic.retries = traffic.retries - earlier.traffic.retries
        difference.traffic.writeRequests = traffic.writeRequests - earlier.traffic.writeRequests
        difference.outside.accepted = outside.accepted - earlier.outside.accepted
        difference.outside.refused = outside.refused - earlier.outside.refused
        difference.traffic.bytesIn = traffic.bytesIn - earlier.traffic.bytesIn
        difference.traffic.bytesOut = traffic.bytesOut - earlier.traffic.bytesOut
        difference.rules.fired = Self.difference(rules.fired, earlier.rules.fired)
        difference.rules.learned = Self.difference(rules.learned, earlier.rules.learned)
        return difference
    }

    /// Without the rules whose counts are equal.
    private static func difference(_ counts: [String: Int], _ earlier: [String: Int]) -> [String: Int] {
        counts.filter { $0.value != earlier[$0.key] }.reduce(into: [:]) { difference, count in
            difference[count.key] = count.value - (earlier[count.key] ?? 0)
        }
    }
}
