@testable import Pipeline

/// A state in a directory of a test.
struct LedgerTestBed {
    let directory: String

    var databasePath: String { directory + "/bot.sqlite" }

    func open(
        name: String = "bot", gateway: String = "http://a:1/todo", rules: String = "r1"
    ) throws(StateError) -> Ledger {
        try Ledger(directory: directory, name: name, gateway: gateway, ruleSetHash: rules)
    }

    /// Opens the state, and gives it free when `body` is done: a task that ended a moment ago may still hold the ledger.
    func using<Result>(rules: String = "r1", _ body: (Ledger) async throws -> Result) async throws -> Result {
        let ledger = try open(rules: rules)
        defer { ledger.close() }
        return try await body(ledger)
    }

    static func withLedger<Result>(_ body: (LedgerTestBed, Ledger) async throws -> Result) async throws -> Result {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            return try await bed.using { try await body(bed, $0) }
        }
    }
}
