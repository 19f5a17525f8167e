internal import ArgumentParser
internal import FoundationEssentials
internal import Rules

/// An argument without an option where the command expects none, or a file that is missing: what to write instead.
struct MisplacedArgument {
    /// Follows the parser's message.
    let remedy: String

    /// Nil if the parser's message is about something else, or no remedy is known.
    ///
    /// - Parameters:
    ///   - reason: The parser's message, such as `Unexpected argument 'c.yaml'`.
    ///   - arguments: The arguments of the process.
    init?(_ reason: String, _ arguments: [String]) {
        var command: any ParsableCommand.Type = Changebot.self
        for argument in arguments {
            guard let next = command.configuration.subcommands.first(where: { $0.name == argument }) else { break }
            command = next
        }
        guard let remedy = Self.remedy(reason, arguments, command) else { return nil }
        self.remedy = remedy
    }

    private static func remedy(
        _ reason: String, _ arguments: [String], _ command: any ParsableCommand.Type
    ) -> String? {
        let takesFile = command == ImportCommand.self || command == VerifyCommand.self
        if takesFile, reason.contains("Missing expected argument") || isFileOption(reason) {
            return "write the file without an option: changebot \(command.name) FILE"
        }
        guard reason.contains("nexpected argument") else { return nil }
        let help = command.helpMessage()
        let namesGateway = arguments.contains { $0 == "-g" || $0.hasPrefix("--gateway") }
        if !namesGateway, arguments.contains(where: isGateway), help.contains("--gateway <") {
            return "name the gateway with --gateway URL"
        }
        guard let quote = reason.firstIndex(of: "'") else { return nil }
        let argument = String(reason[quote...].dropFirst().prefix { $0 != "'" })
        switch kind(argument) {
        case .configuration? where help.contains("--config <"):
            return "name a configuration file with --config \(argument)"
        case .rules? where help.contains("--rules <"): return "name rules with --rules \(argument)"
        default: return takesFile ? "\(command.name) reads one file: call it once for each" : nil
        }
    }

    private static func isFileOption(_ reason: String) -> Bool {
        ["--file", "--input", "-i"].contains { reason.contains("Unknown option '\($0)'") }
    }

    private static func isGateway(_ argument: String) -> Bool {
        ["http://", "https://", "embedded:"].contains { argument.hasPrefix($0) }
    }

    /// What a file or folder looks like. Nil if it does not exist or looks like nothing known.
    private static func kind(_ path: String) -> ForeignFile? {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
        if isFolder { return .rules }
        guard let root = try? SourceFile.read(path: path, beginning: "") else { return nil }
        return ForeignFile(root, in: .rules) ?? ForeignFile(root, in: .configuration)
    }
}
