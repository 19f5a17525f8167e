internal import ArgumentParser
internal import BotState

struct FleetResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Remove a fleet with all that it knows from its engine: checkpoint, dead letters, timers, counts.",
        discussion: """
            changebot fleet reset --engine postgres://db.example/bots --fleet orders --yes

            All its processes must have ended. A fleet of the same name then starts like a new bot.
            """)

    @OptionGroup var fleet: FleetOptions

    @Flag(help: "Do it.")
    var yes = false

    func run() async throws {
        let engine = try fleet.engine()
        guard yes else {
            throw CommandError(
                .usage, "this removes the fleet '\(engine.fleet)' with all that it knows; if you mean it, add --yes")
        }
        do throws(StateError) { try engine.reset() } catch {
            guard case .locked(let holder) = error else { throw CommandError(error) }
            throw CommandError(.tryLater, "the fleet '\(engine.fleet)' has members; stop them first: \(holder)")
        }
        try Console.write(["removed the fleet '\(engine.fleet)'"])
    }
}
