internal import ArgumentParser
internal import BotState
internal import GatewayClient

/// The arguments that select dead letters by number or document.
struct DeadLetterSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The number of a dead letter, or a document id for all dead letters of the document.", valueName: "id"))
    var ids: [String] = []

    @Option(help: ArgumentHelp("A document id, even if it looks like a number.", valueName: "id"))
    var document: [String] = []

    var isEmpty: Bool { ids.isEmpty && document.isEmpty }

    /// The selected dead letters, in the order of the arguments, without duplicates.
    ///
    /// - Parameter options: The command-line options that select this state, for advice in messages.
    /// - Throws: ``CommandError`` with 66 if there is no such dead letter, with 64 if an argument is both a number and
    ///   a document id; `StateError`.
    func deadLetters(in ledger: Ledger, found options: String) throws -> [DeadLetter] {
        var seen: Set<Int> = []
        var deadLetters: [DeadLetter] = []
        for found in try ids.map({ try Self.deadLetters($0, in: ledger, options) })
            + document.map({ try Self.deadLetters(of: $0, in: ledger, options) })
        {
            deadLetters += found.filter { deadLetter in
                deadLetter.ledgerRecord.map { seen.insert($0.number).inserted } ?? false
            }
        }
        return deadLetters
    }

    private static func deadLetters(_ argument: String, in ledger: Ledger, _ options: String) throws -> [DeadLetter] {
        guard let number = Int(argument), let deadLetter = try ledger.deadLetter(number) else {
            return try deadLetters(of: argument, in: ledger, options)
        }
        let others = try ledger.deadLetters(of: DocumentID(argument)).filter { $0 != deadLetter }
        guard others.isEmpty else {
            throw CommandError(
                .usage,
                "'\(argument)' is both the number of a dead letter and the id of a document; for the document, write "
                    + "--document \(argument); for the dead letter, write --document with its document's id, which is "
                    + "listed by: changebot dead-letters list \(options)")
        }
        return [deadLetter]
    }

    private static func deadLetters(
        of id: String, in ledger: Ledger, _ options: String
    ) throws -> [DeadLetter] {
        let deadLetters = try ledger.deadLetters(of: DocumentID(id))
        guard !deadLetters.isEmpty else {
            throw CommandError(
                .missingInput,
                "there is no dead letter '\(id.visible)'; list them with: changebot dead-letters list \(options)")
        }
        return deadLetters
    }
}
