internal import ArgumentParser
internal import Pipeline

struct DeadLettersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the changes that a bot has set aside.",
        discussion: "Example: changebot dead-letters list --json | jq -r .reason | sort | uniq -c")

    @OptionGroup var state: StateOptions

    @Flag(help: "One JSON object a line, as 'export' writes it.")
    var json = false

    func run() async throws {
        do {
            try await ExistingState(state, Environment()).with(.beside) { ledger in
                let pages = LetterPages(ledger)
                guard !json else { return try pages.writeJSON() }
                if try pages.forEach({ try Console.write(LetterText.table($0)) }) == 0 {
                    Console.complain("no dead letters")
                }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}

struct DeadLettersExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all dead letters to stdout, one JSON object a line.",
        discussion: "Example: changebot dead-letters export > letters.ndjson")

    @OptionGroup var state: StateOptions

    func run() async throws {
        do {
            try await ExistingState(state, Environment()).with(.beside) { try LetterPages($0).writeJSON() }
        } catch {
            throw CommandFailure(error)
        }
    }
}
