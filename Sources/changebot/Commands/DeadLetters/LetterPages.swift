internal import Pipeline

/// All letters of a state, a page at a time: there may be any number of them.
struct LetterPages {
    private static let size = 1000

    private let ledger: Ledger

    init(_ ledger: Ledger) { self.ledger = ledger }

    /// - Returns: How many letters there were.
    @discardableResult
    func forEach(_ body: ([DeadLetter]) throws -> Void) throws -> Int {
        var reached = 0
        var count = 0
        while true {
            let page = try ledger.deadLetters(after: reached, limit: Self.size)
            guard let last = page.last?.filing?.number else { return count }
            try body(page)
            reached = last
            count += page.count
        }
    }

    /// - Throws: ``StateError``, ``CommandFailure`` with 74.
    func writeJSON() throws {
        try forEach { page in try Console.write(Array(page.map(LetterText.json).joined(separator: [0x0A]))) }
    }
}

extension Console {
    /// Lines of data.
    ///
    /// - Throws: ``CommandFailure`` with 74.
    static func write(_ lines: [String]) throws(CommandFailure) {
        try write(Array(lines.joined(separator: "\n").utf8))
    }
}
