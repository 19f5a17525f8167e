internal import ArgumentParser
internal import BotState
internal import FoundationEssentials

/// The options for the state of a bot, which several machines may share.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder for checkpoints and dead letters. Default: $STATE_DIRECTORY, $XDG_STATE_HOME/changebot or ~/.local/state/changebot.",
            valueName: "dir"), completion: .directory)
    var state: String?

    @Option(name: .shortAndLong, help: "The name of this bot. Each name has its own checkpoint. Default: changebot.")
    var name: String?

    // The options of ``StateOptions+Engine.swift``. They are no group of their own: in debug builds, ArgumentParser
    // checks each option of a nested group four times as often.
    @Option(
        help: ArgumentHelp(
            "Keep the state in PostgreSQL instead of the state folder: postgres://HOST[:PORT][,HOST…]/DATABASE. Of several processes with the same --fleet, one is active; if it fails, another takes over. Credentials: CHANGEBOT_ENGINE_USER and CHANGEBOT_ENGINE_PASSWORD.",
            valueName: "url"))
    var engine: String?

    @Option(help: "With --engine, the name of the fleet, instead of --name. Default: the same as --name.")
    var fleet: String?

    @Option(
        help: ArgumentHelp(
            "With --engine, how long a process may be unresponsive before another takes over: at least 2s. Default: 5s.",
            valueName: "duration"), transform: TimeSpan.parse)
    var lease: TimeSpan?

    @Flag(help: "With --engine, accept a PostgreSQL that runs with fsync=off.")
    var allowUnsafeEngine = false

    static let defaultName = "changebot"

    func directory(_ environment: Environment) -> String {
        if let state = state ?? environment["state"] { return state }
        // systemd separates directories with colons. Use the first one.
        if let directory = environment.variable("STATE_DIRECTORY")?.split(separator: ":").first {
            return String(directory)
        }
        if let base = environment.variable("XDG_STATE_HOME") { return base + "/changebot" }
        return (environment.variable("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path)
            + "/.local/state/changebot"
    }

    /// - Throws: ``CommandError`` with 64 for an invalid name, such as a path that leaves the directory.
    func botName(_ environment: Environment) throws(CommandError) -> String {
        if let fleet = try fleetName(environment) { return fleet }
        return try environment.checking("name", isFlag: name != nil) { () throws(CommandError) in
            try Self.checked(name ?? environment["name"] ?? Self.defaultName)
        }
    }

    /// The options with which other commands select the state.
    ///
    /// - Parameters:
    ///   - gateway: The gateway given on the command line.
    ///   - rules: The rules given on the command line.
    func reference(_ environment: Environment, gateway: String?, rules: [String] = []) -> StateReference {
        var flags: Set<String> = []
        if state != nil { flags.insert("state") }
        if name != nil { flags.insert("name") }
        if gateway != nil { flags.insert("gateway") }
        if !rules.isEmpty { flags.insert("rules") }
        return StateReference(environment, flags: flags)
    }

    static func checked(_ name: String, _ option: String = "--name") throws(CommandError) -> String {
        let isSafe = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
        }
        guard isSafe, !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= 100 else {
            throw CommandError(
                .usage,
                "\(option) '\(name)' is not valid: write at most 100 letters, digits, '-', '_' and '.', "
                    + "without '.' at the beginning, such as pictures")
        }
        return name
    }
}
