internal import ArgumentParser
internal import Pipeline

struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Show or change which processes of a fleet run: those that share a state with --engine.",
        subcommands: [FleetStatusCommand.self, FleetReleaseCommand.self, FleetResetCommand.self])
}

/// Which fleet is meant.
struct FleetOptions: ParsableArguments {
    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions

    /// - Throws: ``CommandError`` with 64 without `--engine`; what the settings throw.
    func engine() throws -> Engine {
        guard let engine = try state.engine(config.environment()) else {
            throw CommandError(.usage, "--engine is missing: name the fleet with --engine postgres://… --fleet NAME")
        }
        return engine.with(fleet: try state.botName(config.environment()))
    }
}
