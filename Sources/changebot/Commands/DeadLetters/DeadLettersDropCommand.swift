internal import ArgumentParser
internal import Pipeline

struct DeadLettersDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Throw dead letters away.",
        discussion: """
            Example: changebot dead-letters drop 12 13

            Their documents stay as they are.
            """)

    @OptionGroup var state: StateOptions
    @OptionGroup var selection: LetterSelection

    @Flag(help: "All letters there are.")
    var all = false

    func run() async throws {
        do {
            guard all == selection.isEmpty else {
                throw CommandFailure(
                    .usage, all ? "--all and single letters: take one away" : "which ones? give numbers, or --all")
            }
            let dropped = try await ExistingState(state, Environment()).with(.beside) { ledger in
                if all { return try await ledger.dropAllDeadLetters() }
                return try await ledger.drop(selection.letters(in: ledger).compactMap(\.filing?.number))
            }
            Console.complain("dropped \(Quantity.count(dropped)) dead \(dropped == 1 ? "letter" : "letters")")
        } catch {
            throw CommandFailure(error)
        }
    }
}
