internal import FoundationEssentials
internal import GRDB

/// Reads the state of a running bot next to it.
final class StateCheck {
    private let database: DatabaseQueue
    private var checked = ""
    private var lastLetter = 0

    init(_ database: DatabaseQueue) { self.database = database }

    /// - Throws: `DatabaseError` while there is no state.
    init(directory: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        database = try DatabaseQueue(path: "\(directory)/bot.sqlite", configuration: configuration)
    }

    /// The newest checkpoint, as JSON text. Nil if there is none, or it is the one that the last call returned.
    func newCheckpoint() throws -> String? {
        guard let newest = try newestCheckpoint(), newest != checked else { return nil }
        checked = newest
        return newest
    }

    /// As JSON text; nil if there is none.
    func newestCheckpoint() throws -> String? {
        try database.read { database in
            try String.fetchOne(database, sql: "SELECT sequence FROM checkpoint ORDER BY number DESC LIMIT 1")
        }
    }

    /// Whether it has the times of passes over all documents.
    var knowsSchedule: Bool {
        (try? database.read { try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT * FROM schedule)") }) ?? false
    }

    /// The documents that a rule with `enter` or `leave` remembers as matching.
    func documents(rememberedBy rule: String) -> Set<String> {
        let sql = "SELECT id, seen FROM last_seen JOIN comparing_rule ON number = rule WHERE name = ?"
        let rows = try? database.read { try Row.fetchAll($0, sql: sql, arguments: [Data(rule.utf8)]) }
        let matching = (rows ?? []).filter { ($0["seen"] as Data).first.map { $0 & 1 == 1 } ?? false }
        return Set(matching.map { String(decoding: $0["id"] as Data, as: UTF8.self) })
    }

    /// A timer that waits.
    struct Timer: Hashable {
        let id: String
        /// Seconds since 1970.
        let due: Int
    }

    func timers() -> [Timer] {
        (try? database.read { database in
            try Row.fetchAll(database, sql: "SELECT id, due FROM timer WHERE fired = 0 ORDER BY id, due").map { row in
                Timer(id: String(decoding: row["id"] as Data, as: UTF8.self), due: row["due"])
            }
        }) ?? []
    }

    /// A dead letter of the bot.
    struct Letter {
        let id: String
        /// Empty if it has none.
        let revision: String
        let reason: String
    }

    /// All; or those since this was last called with `true`.
    func deadLetters(onlyNew: Bool = false) -> [Letter] {
        let last = onlyNew ? lastLetter : 0
        return
            (try? database.read { database in
                let sql = "SELECT number, id, revision, reason FROM dead_letter WHERE number > ?"
                return try Row.fetchAll(database, sql: sql, arguments: [last]).map { row in
                    if onlyNew { lastLetter = max(lastLetter, row["number"]) }
                    let texts = ["id", "revision", "reason"].map { name in
                        (row[name] as Data?).map { String(decoding: $0, as: UTF8.self) } ?? ""
                    }
                    return Letter(id: texts[0], revision: texts[1], reason: texts[2])
                }
            }) ?? []
    }
}
