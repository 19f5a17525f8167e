internal import ArgumentParser

/// The option `--color`.
struct ColorOption: ParsableArguments {
    static let help: ArgumentHelp = "Whether to use colours. auto: on a terminal. Default: auto."

    @Option(help: Self.help)
    var color: TerminalStyle.Choice?

    /// - Throws: ``CommandError`` with 64 if the variable has an invalid value.
    func style(
        _ environment: Environment, of stream: TerminalStyle.Stream
    ) throws(CommandError) -> TerminalStyle {
        try Self.style(color, environment, of: stream)
    }

    /// - Parameter flag: The value on the command line, which overrides the environment.
    static func style(
        _ flag: TerminalStyle.Choice?, _ environment: Environment, of stream: TerminalStyle.Stream
    ) throws(CommandError) -> TerminalStyle {
        let choice = try environment.value(flag, "color", parse: TerminalStyle.Choice.init(rawValue:))
        return TerminalStyle(choice ?? .default, environment: environment, stream: stream)
    }
}
