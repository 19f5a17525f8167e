/// The tables of a state. All are created at once. A later version may only add tables.
package enum Schema {
    /// The version of the tables, increased with every change. A state stores it under ``versionName``. States from
    /// before the first release stored theirs elsewhere (`grdb_migrations`, or `schema`), so none of them counts as
    /// version 1.
    static let version = 4

    /// The names of two rows of `identity`: the version of the tables, and that of the program that created them. Later
    /// versions keep both.
    static let (versionName, programName) = ("version", "program")

    /// The tables of every state.
    static let tables = decisions + counts

    /// The state itself, and the records of decisions.
    private static let decisions = [
        // Facts about the state, by their names.
        Table("identity", key: ["name"], [.text("name"), .text("value")]),
        // The addresses of the database. `used` increases with every run of any state of this name: the highest is the
        // last address.
        Table("address", key: ["url"], [.text("url"), .int("used")]),
        // The newest row is the checkpoint, the others are its history. Sequences are JSON text; null: the checkpoint
        // was removed. `run` distinguishes the runs.
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
        // Revisions during whose decision the process crashed.
        Table("interrupted_decision", key: ["id", "revision"], [.bytes("id"), .bytes("revision"), .int("deaths")]),
        Table(
            "dead_letter",
            [
                .number("number"), .text("sequence", null: true), .bytes("id"), .bytes("revision", null: true),
                .bytes("rule", null: true), .bytes("reason"), .int("attempts"), .text("set_aside_at"),
                .text("rule_set"),
            ], indexes: [.on("id")]),
        // The rules whose changes have already been applied to older documents, or need not be.
        Table("rule", key: ["name"], [.bytes("name"), .text("fingerprint")]),
        // `fired`: the rule has fired for this time of the document.
        Table(
            "timer", key: ["id", "rule"], [.bytes("id"), .bytes("rule"), .int("due"), .int("fired")],
            indexes: [.on("due", where: "fired = 0")]),
        // The rules with `changed`, `enter` or `leave`. A rule whose condition was edited has a new number.
        Table(
            "comparing_rule", key: ["name", "fingerprint"], since: 2,
            [.number("number"), .bytes("name"), .text("fingerprint")]),
        // The document states that they last saw. `seen` is an encoded ``LastSeen``.
        Table("last_seen", key: ["id", "rule"], since: 2, [.bytes("id"), .int("rule"), .bytes("seen")]),
        // `rules` is a JSON array of names. `begun` is the start of the pass under way, `done` that of the last
        // finished pass.
        Table(
            "schedule", key: ["line", "zone", "rules"],
            [.text("line"), .text("zone"), .bytes("rules"), .int("begun", null: true), .int("done")]),
        // Rules that must not fire (`resumed_at` is null), or make up for the changes after `since`, which is JSON text;
        // null: for all. `number` is that of the last order about the rule. `last_write`: the `rowid` of the last own
        // write before the rule was left out.
        Table(
            "paused_rule", key: ["rule"], since: 4,
            [
                .bytes("rule"), .text("since", null: true), .int("paused_at"), .int("resumed_at", null: true),
                .int("number"), .int("last_write", null: true),
            ]),
        // Orders to apply rules to all documents. `number` is that of the order. All documents up to `last_id` are done.
        // Those that have ended are kept for a week.
        Table(
            "backfill", key: ["rule"], since: 4,
            [
                .bytes("rule"), .bytes("selector", null: true), .int("rate"), .int("number"), .int("ordered_at"),
                .int("begun_at", null: true), .int("ended_at", null: true), .bytes("problem", null: true),
                .bytes("last_id", null: true), .int("expected", null: true), .int("read_count", initial: "0"),
                .int("matched", initial: "0"), .int("written", initial: "0"), .int("dead_letters", initial: "0"),
            ]),
        // What the bot did to documents: a ``TraceEntry`` each. `details` is a JSON object.
        Table(
            "trace", since: 3,
            [.rowid, .bytes("id"), .int("at"), .text("kind"), .bytes("details")],
            indexes: [.on("id", "rowid")]),
        // Downloaded attachments and their servers' validators, the oldest first. `token_file` is that file, or the
        // client for which tokens are issued; empty without a token.
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
        // The last contributions of documents. `id` is a key as in own_write, `rule` a number; `amounts` are decimal
        // numbers, separated by commas.
        Table(
            "contribution", key: ["id", "rule"], [.text("id"), .int("rule"), .text("target"), .text("amounts")]),
        // The sums of the contributions. `document` has the other members of a target that does not exist yet.
        Table(
            "total", key: ["target", "rule"],
            [.text("target"), .int("rule"), .text("amounts"), .int("contributors"), .text("document")],
            indexes: [.on("rule")]),
        // Targets whose totals are not written yet. `chain` as in caused_revision.
        Table(
            "total_to_write", key: ["target"],
            [
                .text("target"), .int("version"), .bytes("chain"), .int("chain_length"),
                .int("has_failed", initial: "0"),
            ]),
        // Documents that must be counted again with their stored content.
        Table("recount", [.number("number"), .bytes("id")]),
    ]

    private static func tables(_ dialect: SQLDialect) -> [Table] {
        dialect == .postgres ? tables + fleetTables : tables
    }

    /// The statements that create all tables in an empty database.
    static func script(_ dialect: SQLDialect) -> String {
        tables(dialect).map { $0.script(dialect) }.joined() + """
            INSERT INTO identity (name, value)
            VALUES ('\(versionName)', '\(version)'), ('\(programName)', '\(ProgramVersion.current)');
            """
    }

    /// The statements that add the tables that an earlier version does not have.
    static func script(_ dialect: SQLDialect, upgradingFrom earlier: Int) -> String {
        tables(dialect).filter { $0.since > earlier }.map { $0.script(dialect) }.joined() + """
            UPDATE identity SET value = '\(version)' WHERE name = '\(versionName)';
            UPDATE identity SET value = '\(ProgramVersion.current)' WHERE name = '\(programName)';
            """
    }

    /// Checks the versions in `identity`.
    ///
    /// - Returns: The version of the tables, at most ``version``.
    /// - Throws: ``SupersededSchema`` if this program can't use the tables; errors of the database.
    static func check(_ session: any StateSession, _ place: SupersededSchema.Place) throws -> Int {
        func fact(_ name: String) throws -> String? {
            try session.value(String.self, "SELECT CAST(value AS text) FROM identity WHERE name = ?", [name])
        }
        let found = try fact(versionName).flatMap { Int($0) }.flatMap { $0 < 1 ? nil : $0 }
        if let found, found <= version { return found }
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

    /// The version of the tables; nil: they have none.
    let version: Int?
    /// The version of the program that created them; nil if unknown.
    let program: String?
    let place: Place

    package var description: String {
        let (other, removal) =
            switch place {
            case .file: ("another --name", "move it away")
            case .fleet(let schema): ("another --fleet", "in psql, run: DROP SCHEMA \(schema) CASCADE")
            }
        guard let version else {
            return "its tables have no version: it was created before changebot's first release, or by another program"
                + "; use \(other), or \(removal)"
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
