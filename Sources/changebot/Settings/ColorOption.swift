internal import ArgumentParser

/// Whether output is coloured.
struct ColorOption: ParsableArguments {
    @Option(help: "Whether to use colours. auto: on a terminal. Default: auto.")
    var color: TerminalStyle.Choice?

    /// - Throws: ``CommandError`` with 64.
    func style(
        _ environment: Environment, of stream: TerminalStyle.Stream
    ) throws(CommandError) -> TerminalStyle {
        try Self.style(color, environment, of: stream)
    }

    /// - Parameter flag: What the command line says; it goes before the environment.
    static func style(
        _ flag: TerminalStyle.Choice?, _ environment: Environment, of stream: TerminalStyle.Stream
    ) throws(CommandError) -> TerminalStyle {
        let choice = try environment.value(flag, "color", parse: TerminalStyle.Choice.init(rawValue:))
        return TerminalStyle(choice ?? .auto, environment: environment, stream: stream)
    }
}
