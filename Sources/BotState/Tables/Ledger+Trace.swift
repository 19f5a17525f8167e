internal import Encodings
package import GatewayClient
internal import Locking
package import LosslessJSON

// What the bot did to each document, for `changebot trace`. Entries are written in the transaction that records what they
// tell, so that both agree.
extension Ledger {
    /// A stored entry.
    package struct RecordedTrace: Sendable {
        /// In seconds since 1970.
        package let time: Int
        /// As in ``TraceEntry``: `decision`, for example.
        package let kind: String
        /// A JSON object.
        package let details: JSONText
        /// The reason of a dead letter that is still in the state.
        package let reason: String?
    }

    /// For how many days entries are kept; 0: none are written. As last recorded by a run.
    package func recordedTraceDays() throws(StateError) -> Int { try read(Self.recordedTraceDays) }

    /// Records for how many days entries are kept, and deletes older ones. From then on, entries are written, or none if
    /// `days` is 0.
    ///
    /// - Parameter days: Nil: as last recorded by a run.
    package func keepTraces(days: Int?) async throws(StateError) {
        let recorded = try recordedTraceDays()
        let days = days ?? recorded
        tracing.withLock { $0 = days }
        guard days > 0 || recorded > 0 else { return }
        if days != recorded {
            try await write { database in
                try database.execute("DELETE FROM identity WHERE name = ?", [Self.traceDays])
                if days > 0 { try Self.set(Self.traceDays, "\(days)", database) }
            }
        }
        let times = Self.keptTimes(days)
        while try await write({ try Self.deleteTraces(outside: times, among: Self.deletedAtOnce, $0) }) ?? 0 > 0 {}
    }

    /// Whether entries are written.
    package var traces: Bool { tracing.withLock(\.self) > 0 }

    /// The entries about a document, the oldest first.
    package func traces(of id: DocumentID) throws(StateError) -> [RecordedTrace] {
        // A fleet that no bot of this version has run yet has no such table.
        guard try recordedTraceDays() > 0 else { return [] }
        let rows = try read { database in
            try database.rows(
                "SELECT at, kind, details FROM trace WHERE id = ? ORDER BY rowid", [TextAsBytes(id.text)])
        }
        var reasons: [Int: String] = [:]
        for deadLetter in try deadLetters(of: id) {
            if let number = deadLetter.ledgerRecord?.number { reasons[number] = deadLetter.reason }
        }
        return rows.compactMap { row in
            guard let details = try? JSONText((row[2] as TextAsBytes).text) else { return nil }
            let number = row[1] == TraceEntry.Kind.deadLetter.rawValue ? details.root["number"]?.integer : nil
            return RecordedTrace(
                time: row[0], kind: row[1], details: details, reason: number.flatMap { reasons[$0] })
        }
    }

    /// Writes entries as part of a transaction, if the run keeps a trace.
    func record(_ entries: [TraceEntry], in database: any StateSession) throws {
        try Self.record(entries, days: tracing.withLock(\.self), in: database)
    }

    /// Also deletes entries that are too old: at most about twice as many as it writes, so that each transaction takes a
    /// similar time.
    ///
    /// - Parameter days: For how many days entries are kept; 0: none are written.
    private static func record(_ entries: [TraceEntry], days: Int, in database: any StateSession) throws {
        guard days > 0, !entries.isEmpty else { return }
        let now = Timestamp.secondsNow
        try database.executeEach(
            "INSERT INTO trace (id, at, kind, details) VALUES (?, ?, ?, ?)",
            entries.map { [TextAsBytes($0.id.text), now, $0.kind.rawValue, $0.details] })
        try deleteTraces(outside: keptTimes(days), among: 2 * entries.count + 10, database)
    }

    /// The same without a ledger: for as many days as a run last recorded.
    static func record(traces entries: [TraceEntry], in database: any StateSession) throws {
        guard !entries.isEmpty else { return }
        try record(entries, days: recordedTraceDays(database), in: database)
    }

    private static func recordedTraceDays(_ database: any StateSession) throws -> Int {
        let text = try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [traceDays])
        return text.flatMap { Int($0) } ?? 0
    }

    private static let traceDays = "trace_days"
    private static let deletedAtOnce = 10_000
    private static let secondsOfDay = 86_400

    /// Entries from the future come from a clock that was wrong.
    private static func keptTimes(_ days: Int) -> Range<Int> {
        let now = Timestamp.secondsNow
        return days == 0 ? now..<now : (now - days * secondsOfDay)..<(now + secondsOfDay)
    }

    /// Deletes entries that are among the oldest `count` ones.
    ///
    /// - Returns: How many were deleted.
    @discardableResult
    private static func deleteTraces(
        outside times: Range<Int>, among count: Int, _ database: any StateSession
    ) throws -> Int {
        // Other members may be deleting the same entries.
        let lock = database.dialect == .postgres ? "FOR UPDATE SKIP LOCKED" : ""
        return try database.execute(
            """
            DELETE FROM trace WHERE rowid IN (SELECT rowid FROM trace ORDER BY rowid LIMIT ? \(lock))
                AND (at < ? OR at >= ?)
            """, [count, times.lowerBound, times.upperBound])
    }
}
