internal import Encodings
package import GatewayClient
internal import LosslessJSON

/// The progress that a replication records in a `_local` document, at its source and at its target, with a history of
/// sessions. CouchDB's replicator writes the same members.
///
/// - Note: Source: `do_checkpoint` and `compare_replication_logs` in CouchDB 3.5's
///   `couch_replicator_scheduler_job.erl`.
package struct ReplicationLog: Sendable, Equatable {
    /// One session in the history.
    package struct Entry: Sendable, Equatable {
        package let session: String
        /// The sequence that the session reached; nil if the entry does not say.
        package let sequence: SequenceID?
        /// The entry's JSON, including members that only its writer knows.
        let json: [UInt8]
    }

    /// The current session.
    package struct Session: Sendable {
        package let id: String
        package let start: SequenceID
        /// Seconds since 1970.
        package let began: Int

        package init(id: String, start: SequenceID, began: Int) {
            self.id = id
            self.start = start
            self.began = began
        }
    }

    /// CouchDB keeps the same number.
    static let historyLimit = 50

    /// The newest session.
    package let session: String
    package let sequence: SequenceID
    /// The newest first.
    package let history: [Entry]

    /// - Returns: Nil if the document is not a replication log.
    package init?(_ body: [UInt8]) {
        guard let root = try? JSONText(body).root, let session = root["session_id"]?.string,
            let sequence = root["source_last_seq"].flatMap(SequenceID.init)
        else { return nil }
        self.session = session
        self.sequence = sequence
        history = root["history"]?.elements.compactMap(Entry.init) ?? []
    }

    /// The sequence up to which both ends agree that everything was replicated, with the history up to it; nil if they
    /// agree on none.
    package static func common(
        _ source: ReplicationLog?, _ target: ReplicationLog?
    ) -> (sequence: SequenceID, history: [Entry])? {
        guard let source, let target else { return nil }
        if source.session == target.session { return (source.sequence, source.history) }
        let targets = Dictionary(
            target.history.enumerated().map { ($1.session, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, entry) in source.history.enumerated() {
            guard let sequence = entry.sequence, targets[entry.session] != nil else { continue }
            return (sequence, Array(source.history[index...]))
        }
        return nil
    }

    /// The document's body after a session has reached `sequence`.
    ///
    /// - Parameter earlier: The history before this session.
    package static func body(
        of session: Session, at sequence: SequenceID, counts: ReplicationCounts, now: Int, after earlier: [Entry]
    ) -> [UInt8] {
        var body = JSONWriter()
        body.object { body in
            body.member("session_id", string: session.id)
            body.member("source_last_seq", raw: sequence.json)
            body.member("replication_id_version", integer: 4)
            body.name("history")
            body.array { history in
                history.object { entry in
                    entry.member("session_id", string: session.id)
                    entry.member("start_time", string: HTTPDate(seconds: session.began).text)
                    entry.member("end_time", string: HTTPDate(seconds: now).text)
                    entry.member("start_last_seq", raw: session.start.json)
                    entry.member("end_last_seq", raw: sequence.json)
                    entry.member("recorded_seq", raw: sequence.json)
                    entry.member("missing_checked", integer: counts.checked)
                    entry.member("missing_found", integer: counts.missing)
                    entry.member("docs_read", integer: counts.read)
                    entry.member("docs_written", integer: counts.written)
                    entry.member("doc_write_failures", integer: counts.failed)
                }
                for entry in earlier.prefix(historyLimit - 1) { history.raw(entry.json) }
            }
        }
        return body.bytes
    }
}

extension ReplicationLog.Entry {
    fileprivate init?(_ value: JSONValue) {
        guard let session = value["session_id"]?.string else { return nil }
        self.session = session
        sequence = value["recorded_seq"].flatMap(SequenceID.init)
        json = Array(value.bytes)
    }
}

/// Counts of a replication's revisions, by outcome.
package struct ReplicationCounts: Sendable, Equatable {
    /// Revisions that the target was asked about.
    package var checked = 0
    /// Of these, revisions that it did not have.
    package var missing = 0
    /// Revisions that the source sent.
    package var read = 0
    /// Revisions that the target stored.
    package var written = 0
    /// Of these, tombstones.
    package var deleted = 0
    /// Revisions that the source could not send or the target refused.
    package var failed = 0
    /// Leaves that a target with one leaf per document refused. They are also counted as failed, except settled ones
    /// and deletions of losing branches.
    package var conflicts = 0
    /// Conflicts that a policy settled.
    package var settled = 0
    /// Attachments whose bytes were sent.
    package var attachments = 0
    /// Attachments that the target already had.
    package var keptAttachments = 0
    /// Revisions excluded by the filters, and those of design documents that the target can't have.
    package var filtered = 0
    /// Documents that expire at the source but not at the target. Counted only with `--keep-expiry`.
    package var lostExpiries = 0

    package init() {}
}
