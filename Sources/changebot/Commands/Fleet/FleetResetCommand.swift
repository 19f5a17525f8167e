internal import ArgumentParser
internal import BotState

struct FleetResetCommand: FleetSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Delete a fleet's entire state from its engine: checkpoint, dead letters, timers, counts.",
        discussion: """
            changebot fleet reset --engine postgres://db.example/bots --fleet orders --yes

            All processes of the fleet must have ended. A fleet with the same name then starts like a new bot.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    @Flag(help: "Confirm the deletion.")
    var yes = false

    func run() async throws {
        let engine = try engine()
        guard yes else {
            throw CommandError(
                .usage, "this deletes the entire state of the fleet '\(engine.fleet)'; to confirm, add --yes")
        }
        do throws(StateError) { try engine.reset() } catch {
            guard case .locked(let holder) = error else { throw CommandError(error) }
            throw CommandError(.temporaryFailure, "the fleet '\(engine.fleet)' has members; stop them first: \(holder)")
        }
        try Console.write(["removed the fleet '\(engine.fleet)'"])
    }
}
