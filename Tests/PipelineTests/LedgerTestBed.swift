@testable import Pipeline

/// A state in a directory of a test.
struct LedgerTestBed {
    let directory: String

    var databasePath: String { directory + "/bot.sqlite" }

    func open(
        name: String = "bot", gateway: String = "http://a:1/todo", rules: String = "r1"
    ) throws(StateError) -> Ledger {
        let files = files(name)
        try files.createDirectory()
        return try Ledger(files, at: StateFacts.Address(url: gateway, used: 1), ruleSetHash: rules)
    }

    /// Opens the state if there is one; nil if not.
    func openExisting(_ access: Ledger.Access, rules: String = "") throws(StateError) -> Ledger? {
        try Ledger(existing: files(), ruleSetHash: rules, access: access)
    }

    /// Opens a copy of the state, which must exist, for a dry run.
    func preview() throws -> Ledger {
        try Ledger(previewing: files(), copy: LedgerSnapshot.take(files()), "r1")
    }

    /// The run that holds the state; nil if none does.
    var holder: String? { StateLock.holder(path: files().lock) }

    private func files(_ name: String = "bot") -> StateFiles { StateFiles(directory: directory, name: name) }

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
