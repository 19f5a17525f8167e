/// The tables of a state. All are made at once.
package enum Schema {
    /// The version of the tables, raised with every change. A state has it in ``versionName``: states of before the first
    /// release named theirs otherwise (`grdb_migrations`, or `schema`), so none of them is taken for version 1.
    static let version = 1

    /// The names of two rows of `identity`: the version of the tables, and that of the program that made them. Later
    /// versions keep both.
    static let (versionName, programName) = ("version", "program")

    /// The tables of every state.
    static let tables = decisions + counts

    /// The state itself, and what decisions leave in it.
    private static let decisions = [
        // Facts about the state, by their names.
        Table("identity", key: ["name"], [.text("name"), .text("value")]),
        // Where the database was reached. `used` grows with every run of any state of this name: the highest is where it
        // was reached last.
        Table("address", key: ["url"], [.text("url"), .int("used")]),
        // The newest row is the checkpoint, the others are its history. Sequences are JSON text; without one, the
        // checkpoint was removed. `run` tells the runs apart.
        Table(
            "checkpoint",
            [
                .number("number"), .text("sequence", null: true), .text("rule_set"), .text("saved_at"), .text("run"),
                .text("reason", null: true),
            ]),
        // Writes of this bot, the oldest first. `id` and `revision` are keys (``OwnWrite/key(_:)``), `content` and
        // `rule_set` digests. All times are seconds since 1970.
        Table(
            "own_write",
            [
                .rowid, .text("id"), .text("revision", null: true), .int("content", null: true), .int("rule_set"),
                .int("written_at"),
            ], indexes: [.on("id", "rowid")]),
        // Revisions that a `put` wrote, the oldest first. `chain` is a JSON array of rule names.
        Table(
            "caused_revision", key: ["id", "revision"], [.rowid, .bytes("id"), .bytes("revision"), .bytes("chain")]),
        // Revisions over whose decision the process died.
        Table("interrupted_decision", key: ["id", "revision"], [.bytes("id"), .bytes("revision"), .int("deaths")]),
        Table(
            "dead_letter",
            [
                .number("number"), .text("sequence", null: true), .bytes("id"), .bytes("revision", null: true),
                .bytes("rule", null: true), .bytes("reason"), .int("attempts"), .text("set_aside_at"),
                .text("rule_set"),
            ], indexes: [.on("id")]),
        // The rules for whose changes documents from before need nothing any more.
        Table("rule", key: ["name"], [.bytes("name"), .text("fingerprint")]),
        // `fired`: the rule has fired for this time of the document.
        Table(
            "timer", key: ["id", "rule"], [.bytes("id"), .bytes("rule"), .int("due"), .int("fired")],
            indexes: [.on("due", where: "fired = 0")]),
        // `rules` is a JSON array of names. `begun` is of the pass under way, `done` of the last one that has ended.
        Table(
            "schedule", key: ["line", "zone", "rules"],
            [.text("line"), .text("zone"), .bytes("rules"), .int("begun", null: true), .int("done")]),
        // Downloaded attachments and what their servers said of them, the oldest first. `token_file` is empty without one.
        Table(
            "download", key: ["url", "token_file"],
            [
                .rowid, .bytes("url"), .bytes("token_file"), .text("etag", null: true),
                .text("last_modified", null: true), .text("sha1"), .text("md5"), .int("length"), .text("content_type"),
            ]),
    ]

    /// What documents add to the totals of rules with `aggregate`.
    private static let counts = [
        // `name` is a key as in own_write. `is_complete`: all documents are counted. `seen`: when a process that shares
        // its work last had this rule.
        Table(
            "aggregate_rule", key: ["name", "fingerprint"],
            [
                .number("number"), .text("name"), .text("fingerprint"), .int("is_complete"),
                .int("seen", initial: "0"),
            ]),
        // What a document added last. `id` is a key as in own_write, `rule` a number; `amounts` are decimal numbers with
        // commas between them.
        Table(
            "contribution", key: ["id", "rule"], [.text("id"), .int("rule"), .text("target"), .text("amounts")]),
        // The sums of these. `document` has the other members of a target that does not exist yet.
        Table(
            "total", key: ["target", "rule"],
            [.text("target"), .int("rule"), .text("amounts"), .int("contributors"), .text("document")],
            indexes: [.on("rule")]),
        // Targets that do not show their totals yet. `chain` as in caused_revision.
        Table(
            "total_to_write", key: ["target"],
            [
                .text("target"), .int("version"), .bytes("chain"), .int("chain_length"),
                .int("has_failed", initial: "0"),
            ]),
        // Documents that must be counted again, as they are stored.
        Table("recount", [.number("number"), .bytes("id")]),
    ]

    /// The statements that make all tables in an empty database.
    static func script(_ language: StateLanguage) -> String {
        let all = language == .postgres ? tables + fleetTables : tables
        return all.map { $0.script(language) }.joined() + """
            INSERT INTO identity (name, value)
            VALUES ('\(versionName)', '\(version)'), ('\(programName)', '\(ProgramVersion.current)');
            """
    }

    /// What `identity` says about the tables.
    ///
    /// - Throws: ``SupersededSchema`` if this program can't use them; what the database says.
    static func check(_ session: any StateSession, _ place: SupersededSchema.Place) throws {
        func fact(_ name: String) throws -> String? {
            try session.value(String.self, "SELECT CAST(value AS text) FROM identity WHERE name = ?", [name])
        }
        let found = try fact(versionName).flatMap { Int($0) }.flatMap { $0 < 1 ? nil : $0 }
        guard found != version else { return }
        throw SupersededSchema(version: found, program: try fact(programName), place: place)
    }
}

/// The tables of a state are not those of this program.
package struct SupersededSchema: Error, Equatable, CustomStringConvertible {
    /// Where they are.
    package enum Place: Equatable {
        case file
        /// In this schema of PostgreSQL.
        case fleet(schema: String)
    }

    /// Theirs; nil: they have none.
    let version: Int?
    /// The program that made them; nil if the state does not tell.
    let program: String?
    let place: Place

    package var description: String {
        let (other, removal) =
            switch place {
            case .file: ("another --name", "move it away")
            case .fleet(let schema): ("another --fleet", "in psql, run: DROP SCHEMA \(schema) CASCADE")
            }
        guard let version else {
            return "its tables have no version: a changebot from before the first release made it, or another program; "
                + "use \(other), or \(removal)"
        }
        let which =
            if let program, program != ProgramVersion.current {
                "version \(program) (this is \(ProgramVersion.current))"
            } else {
                "version \(version) of the tables (this program needs \(Schema.version))"
            }
        return "it was written by a newer changebot, \(which); use that one, or \(other)"
    }
}
