internal import ArgumentParser
internal import GatewayClient
internal import Pipeline

/// The letters that a command is about.
struct LetterSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The number of a dead letter, or a document id for all dead letters of the document.", valueName: "id"))
    var ids: [String] = []

    @Option(help: ArgumentHelp("A document id, even if it looks like a number.", valueName: "id"))
    var document: [String] = []

    var isEmpty: Bool { ids.isEmpty && document.isEmpty }

    /// The letters, in the order of the arguments, each once.
    ///
    /// - Parameter options: By which other commands find this state.
    /// - Throws: ``CommandFailure`` with 66 for what is not there, 64 for what may mean two things; ``StateError``.
    func letters(in ledger: Ledger, found options: String) throws -> [DeadLetter] {
        var seen: Set<Int> = []
        var letters: [DeadLetter] = []
        for found in try ids.map({ try Self.letters($0, in: ledger, options) })
            + document.map({ try Self.letters(of: $0, in: ledger, options) })
        {
            letters += found.filter { letter in letter.filing.map { seen.insert($0.number).inserted } ?? false }
        }
        return letters
    }

    private static func letters(_ argument: String, in ledger: Ledger, _ options: String) throws -> [DeadLetter] {
        guard let number = Int(argument), let letter = try ledger.deadLetter(number) else {
            return try letters(of: argument, in: ledger, options)
        }
        let others = try ledger.deadLetters(of: DocumentID(argument)).filter { $0 != letter }
        guard others.isEmpty else {
            throw CommandFailure(
                .usage,
                "'\(argument)' is both a letter's number and a document's id; write --document \(argument), "
                    + "or other numbers from: changebot dead-letters list \(options)")
        }
        return [letter]
    }

    private static func letters(
        of id: String, in ledger: Ledger, _ options: String
    ) throws -> [DeadLetter] {
        let letters = try ledger.deadLetters(of: DocumentID(id))
        guard !letters.isEmpty else {
            throw CommandFailure(
                .missingInput,
                "there is no dead letter '\(id.visible)'; list them with: changebot dead-letters list \(options)")
        }
        return letters
    }
}
