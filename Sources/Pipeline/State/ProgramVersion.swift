internal import GRDB

/// The version of changebot.
package enum ProgramVersion {
    package static let current = "0.1.0"

    /// As one number that grows with the version, such as 1002003 for 1.2.3.
    static let number = current.split(separator: ".").reduce(0) { $0 * 1000 + (Int($1) ?? 0) }

    /// Notes in a state file that this version gave it its form. Every version can read the note.
    ///
    /// - Note: Source: `PRAGMA user_version`, which SQLite keeps in the header of the file for applications.
    static func note(in database: Database) throws {
        try database.execute(sql: "PRAGMA user_version = \(number)")
    }

    /// The version that gave a state file its form; nil if it is not known to be a later one than this.
    static func later(in database: Database) throws -> String? {
        guard let number = try Int.fetchOne(database, sql: "PRAGMA user_version"), number > Self.number else {
            return nil
        }
        return "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
    }
}
