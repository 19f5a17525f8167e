@testable import Pipeline

extension Ledger {
    /// Opens or creates the first state `bot` in `directory`, whatever database it belongs to, and locks it.
    ///
    /// - Parameter gateway: The URL at which the database is reached.
    convenience init(directory: String, gateway: String, ruleSetHash: String) throws {
        let files = StateFiles(directory: directory, name: "bot")
        try files.createDirectory()
        try self.init(files, at: StateFacts.Address(url: gateway, used: 1), ruleSetHash: ruleSetHash)
    }
}
