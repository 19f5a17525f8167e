extension Ledger {
    /// Moves the log of members that share the work to another position in the feed. Drops the changes that wait in it.
    ///
    /// - Parameter sequence: JSON text; nil: the position where a new bot begins.
    static func moveLog(to sequence: String?, _ session: any StateSession) throws {
        guard session.dialect == .postgres else { return }
        try session.execute("UPDATE fleet SET seq = ? WHERE partitions IS NOT NULL", [sequence])
        for table in ["work", "parked", "mark"] { try session.execute("DELETE FROM \(table)") }
    }
}
