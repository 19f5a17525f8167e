internal import BotState
internal import Encodings
internal import LosslessJSON
internal import Monitoring

/// What a bot that is not running knew about its databases.
struct KnownDatabases {
    let name: String
    private let databases: DatabasesView
    private let missing: Int

    /// - Parameter entries: The index of the bot, by the names of databases.
    init(name: String, entries: [String: DatabaseIndex.Entry]) {
        self.name = name
        missing = entries.values.count { $0.missingSince != nil }
        databases = DatabasesView(
            entries.filter { $0.value.missingSince == nil }.map { name, known in
                var entry = DatabasesView.Entry(name)
                if let failure = known.failure { (entry.state, entry.reason) = (.skipped, failure) }
                (entry.deadLetters, entry.wakeAt) = (known.deadLetters, known.wakeAt)
                return entry
            })
    }

    /// For people, one fact per line.
    var lines: [String] {
        var lines = ["\(name): not running", "  databases     \(Quantity.count(databases.total))"]
        if missing > 0 { lines.append("  missing       \(Quantity.count(missing))") }
        lines.append("  dead letters  \(Quantity.count(databases.deadLetters))")
        return lines + databases.worst.map { "  worst         \(DatabaseLine.text($0).visible)" }
    }

    /// For programs.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", string: name)
            writer.name("databases")
            databases.write(to: &writer)
        }
        return writer.bytes
    }
}

/// One of the worst databases, on one line.
enum DatabaseLine {
    static func text(_ entry: DatabasesView.Entry) -> String {
        text(entry.name, entry.state.rawValue, entry.deadLetters, entry.reason)
    }

    /// The same for a database in a status file. Nil if something is missing.
    static func text(_ entry: JSONValue) -> String? {
        guard let name = entry["name"]?.string, let state = entry["state"]?.string else { return nil }
        return text(name, state, entry["dead_letters"]?.integer ?? 0, entry["reason"]?.string)
    }

    private static func text(_ name: String, _ state: String, _ deadLetters: Int, _ reason: String?) -> String {
        let count = deadLetters > 0 ? ", \(Quantity.count(deadLetters, "dead letter"))" : ""
        return "\(name): \(state)\(count)\(reason.map { ": \($0)" } ?? "")"
    }
}
