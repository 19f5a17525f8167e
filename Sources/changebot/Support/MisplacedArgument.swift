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
        let help = command.helpMessage()
        if let unknown = unknownOption(in: reason) {
            return otherOption(for: unknown, of: command) ?? abbreviated(unknown, help)
        }
        if reason.contains("Missing expected argument") {
            return arguments.lazy.compactMap { otherOption(for: $0, of: command) }.first
        }
        guard reason.contains("nexpected argument") else { return nil }
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

    /// The option in a message such as `Unknown option '--dry'. Did you mean '--dry-run'?`
    private static func unknownOption(in reason: String) -> String? {
        guard let range = reason.firstRange(of: "nknown option '") else { return nil }
        return String(reason[range.upperBound...].prefix { $0 != "'" && $0 != "=" })
    }

    /// What a command has instead of an option that others have.
    private static func otherOption(for option: String, of command: any ParsableCommand.Type) -> String? {
        let namesGateway = option == "--gateway" || option == "-g"
        switch command.name {
        case "verify" where namesGateway: return "name the gateway with --against URL"
        case "replicate" where namesGateway || ["--source", "--target", "--from", "--to"].contains(option):
            return "write both addresses without an option: changebot replicate SOURCE TARGET"
        case "export" where ["--file", "--to", "--out"].contains(option): return "name the file with --output FILE"
        case "check" where option == "--rules", "test" where option == "--rules":
            return "write the rules without an option: changebot rules \(command.name) PATH"
        default: return nil
        }
    }

    /// The only options, at most three, that begin like this.
    private static func abbreviated(_ option: String, _ help: String) -> String? {
        guard option.hasPrefix("--"), option.count > 3 else { return nil }
        let words = help.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
        let names = Set(words.filter { $0.hasPrefix(option) && $0 != option }).sorted()
        guard !names.isEmpty, names.count <= 3 else { return nil }
        return "did you mean \(names.joined(separator: " or "))?"
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
