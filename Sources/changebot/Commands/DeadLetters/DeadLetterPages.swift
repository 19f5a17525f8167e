internal import BotState

/// Prints the dead letters of a state. Reads them page by page, because their number is not limited.
struct DeadLetterPages {
    private static let size = 500

    private let ledger: Ledger
    private let filter: DeadLetterFilter

    init(_ ledger: Ledger, _ filter: DeadLetterFilter) {
        self.ledger = ledger
        self.filter = filter
    }

    private func forEach(_ body: ([DeadLetter]) throws -> Void) throws {
        var reached = 0
        while true {
            let page = try ledger.deadLetters(after: reached, limit: Self.size, filter: filter)
            guard let last = page.last?.ledgerRecord?.number else { return }
            try body(page)
            reached = last
        }
    }

    /// - Parameter bot: The value of a member `bot` in each line. Nil: leaves the member out.
    /// - Throws: `StateError` if the state can't be read, ``CommandError`` with 74 if stdout can't be written.
    func writeJSON(bot: String? = nil) throws {
        try forEach { page in
            try Console.write(Array(page.map { DeadLetterText.json($0, bot: bot) }.joined(separator: [0x0A])))
        }
    }

    /// Writes a header, then one line for each dead letter. A first pass finds the widths of the columns.
    ///
    /// - Throws: `StateError` if the state can't be read, ``CommandError`` with 74 if stdout can't be written.
    func writeTable() throws {
        var table = DeadLetterTable()
        try forEach { table.measure($0) }
        try Console.write([table.header])
        try forEach { page in try Console.write(page.map(table.line)) }
    }
}
