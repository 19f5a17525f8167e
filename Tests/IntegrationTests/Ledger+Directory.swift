@testable import BotState

extension Ledger {
    /// Opens or creates the first state `bot` in `directory`, whatever database it belongs to, and locks it.
    ///
    /// - Parameter gateway: The URL at which the database is reached.
    static func open(directory: String, gateway: String, ruleSetHash: String) throws -> Ledger {
        if let engine = try TestEngine.instead(of: directory) {
            return try EngineState.openForRun(
                engine, directory: directory, gateway, .inaccessible, ruleSetHash: ruleSetHash
            ).ledger
        }
        let files = StateFiles(directory: directory, name: "bot")
        try files.createDirectory()
        return try Ledger(files, at: StateFacts.Address(url: gateway, used: 1), ruleSetHash: ruleSetHash)
    }
}
