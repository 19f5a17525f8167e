/// The counts of a run so far. Byte counts include bodies, not headers.
package struct RunCounters: Sendable, Equatable {
    /// Rows of the feed, or documents of a full pass.
    package var changes = 0
    /// Changes on which at least one rule fired or failed.
    package var matched = 0
    /// Documents that the gateway accepted, including deletions and documents that rules `put`.
    package var written = 0
    /// The tombstones among these.
    package var deleted = 0
    /// Documents that a dry run would have written, counted in the same way.
    package var shown = 0
    /// The tombstones among these.
    package var shownDeletions = 0
    /// Matching documents that needed no change.
    package var unchanged = 0
    /// Writes refused as conflicts. Every attempt counts.
    package var conflicts = 0
    /// Documents that the gateway refused permanently.
    package var rejected = 0
    /// Dead-lettered changes, including those whose write the gateway refused.
    package var deadLetters = 0
    /// Lines that rules emitted.
    package var emitted = 0
    /// Requests sent again.
    package var retries = 0
    /// Answered requests that write documents: `_bulk_docs`, and `PUT`s of single documents.
    package var writeRequests = 0
    /// Webhooks that their receivers accepted.
    package var webhooksSent = 0
    /// Webhooks that became dead letters.
    package var webhooksRefused = 0
    /// Bytes of the rows and documents that were read.
    package var bytesIn = 0
    /// Bytes of the documents that the gateway accepted.
    package var bytesOut = 0
    /// The number of firings of each rule, by its name.
    package var rules: [String: Int] = [:]

    /// All counters at zero.
    package init() {}

    /// The counters that every run has, in order, with their names in JSON. For the summary and the status.
    package static let members: [(name: String, count: @Sendable (RunCounters) -> Int)] = [
        ("changes", { $0.changes }), ("matched", { $0.matched }), ("written", { $0.written }),
        ("deleted", { $0.deleted }), ("unchanged", { $0.unchanged }), ("conflicts", { $0.conflicts }),
        ("rejected", { $0.rejected }), ("dead_letters", { $0.deadLetters }), ("emitted", { $0.emitted }),
        ("webhooks_sent", { $0.webhooksSent }), ("webhooks_refused", { $0.webhooksRefused }),
        ("retries", { $0.retries }),
        ("write_requests", { $0.writeRequests }), ("bytes_in", { $0.bytesIn }), ("bytes_out", { $0.bytesOut }),
    ]

    /// Adds the counts of further requests: `written`, `deleted`, `writeRequests`, `bytesOut` and `retries`.
    package mutating func addSent(_ more: RunCounters) {
        written += more.written
        deleted += more.deleted
        writeRequests += more.writeRequests
        bytesOut += more.bytesOut
        retries += more.retries
    }

    /// The counts since `earlier`.
    package func difference(from earlier: RunCounters) -> RunCounters {
        var difference = RunCounters()
        difference.changes = changes - earlier.changes
        difference.matched = matched - earlier.matched
        difference.written = written - earlier.written
        difference.deleted = deleted - earlier.deleted
        difference.shown = shown - earlier.shown
        difference.shownDeletions = shownDeletions - earlier.shownDeletions
        difference.unchanged = unchanged - earlier.unchanged
        difference.conflicts = conflicts - earlier.conflicts
        difference.rejected = rejected - earlier.rejected
        difference.deadLetters = deadLetters - earlier.deadLetters
        difference.emitted = emitted - earlier.emitted
        difference.retries = retries - earlier.retries
        difference.writeRequests = writeRequests - earlier.writeRequests
        difference.webhooksSent = webhooksSent - earlier.webhooksSent
        difference.webhooksRefused = webhooksRefused - earlier.webhooksRefused
        difference.bytesIn = bytesIn - earlier.bytesIn
        difference.bytesOut = bytesOut - earlier.bytesOut
        for (rule, count) in rules where count != earlier.rules[rule] {
            difference.rules[rule] = count - (earlier.rules[rule] ?? 0)
        }
        return difference
    }
}
