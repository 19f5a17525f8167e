internal import ArgumentParser
internal import Logging
internal import Rules

/// Describes wrong arguments: the parser's message, with a suggestion.
struct UsageError {
    private let message: String
    /// The lines that the parser adds: the help of the option and the usage of the command.
    private let advice: [String]

    /// - Parameters:
    ///   - text: The parser's message, with several lines.
    ///   - arguments: The arguments of the process.
    init(_ text: String, _ arguments: [String]) {
        // Arguments are shown unchanged, except for control characters.
        let text = arguments.filter { $0 != $0.visible }.reduce(text) { text, argument in
            text.split(separator: argument, omittingEmptySubsequences: false).joined(separator: argument.visible)
        }
        let lines = ProcessTitle.redacted(text).split(separator: "\n")
        let start = lines.firstIndex { line in ["Help:", "Usage:", "Commands:"].contains { line.hasPrefix($0) } }
        let reason = lines[..<(start ?? lines.count)].joined(separator: " ")
        let parserMessage = reason.hasPrefix("Error: ") ? String(reason.dropFirst("Error: ".count)) : reason
        if let misplaced = MisplacedArgument(reason, arguments) {
            // The parser's guess is another option with a similar name.
            let end = parserMessage.firstRange(of: ". Did you mean")?.lowerBound ?? parserMessage.endIndex
            message = "\(parserMessage[..<end]); \(misplaced.remedy)"
        } else {
            message = Self.withoutFarGuess(parserMessage) + Self.hint(arguments)
        }
        advice = lines[(start ?? lines.count)...].map(String.init)
    }

    /// The parser's message with the full name of the command in its last line: the parser knows only the last word of
    /// a command that it parses without its parents.
    ///
    /// - Parameter path: The names of the command and its parents, from the root.
    static func withFullName(_ message: String, of path: [String]) -> String {
        guard path.count > 1, let name = path.last else { return message }
        return message.replacing("See '\(name) --help'", with: "See '\(path.joined(separator: " ")) --help'")
    }

    func report() {
        Console.complain(
            ["changebot: error: " + VisibleLine(message)] + advice.map { VisibleLine($0) },
            LogLine(.error, message, ["exit": .stringConvertible(ExitStatus.usage.rawValue)]))
    }

    // MARK: - Suggestions

    /// The parser also suggests names that are not similar: `--quiet` for `--rule`.
    private static func withoutFarGuess(_ complaint: String) -> String {
        guard
            let match = complaint.firstMatch(of: /(nknown option '(--?[\w-]+)[^']*')\. Did you mean '(--?[\w-]+)'\?/),
            NearestName.of(String(match.2), among: [String(match.3)]) == nil
        else { return complaint }
        return complaint.replacing(match.0, with: match.1)
    }

    /// An argument that is not a command, where a command is expected.
    struct UnknownCommand {
        let name: String
        let parent: [any ParsableCommand.Type]

        /// - Returns: Nil if the arguments begin with a known command.
        init?(_ arguments: [String]) {
            var path: [any ParsableCommand.Type] = [Changebot.self]
            for argument in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
                guard let subcommands = path.last?.configuration.subcommands, !subcommands.isEmpty else { return nil }
                if let next = subcommands.first(where: { $0.name == argument }) {
                    path.append(next)
                } else {
                    name = argument
                    parent = path
                    return
                }
            }
            return nil
        }

        var message: String {
            let path = parent.map { $0.name }.joined(separator: " ")
            let names = parent.last?.configuration.subcommands.map { $0.name } ?? []
            let meant = NearestName.of(name, among: names).map { ["\(path) \($0)"] } ?? elsewhere
            let guess = meant.isEmpty ? "" : " Did you mean \(meant.map { "'\($0)'" }.joined(separator: " or "))?"
            return "Error: '\(name)' is not a command.\(guess)\nCommands: \(names.joined(separator: ", "))\n"
                + "  See '\(path) --help' for more information."
        }

        /// Subcommands with this name under other commands.
        private var elsewhere: [String] {
            guard parent.count == 1 else { return [] }
            return Changebot.configuration.subcommands.filter { group in
                group.configuration.subcommands.contains { $0.name == name }
            }.map { "\(Changebot.name) \($0.name) \(name)" }
        }
    }

    /// A hint if options precede the command: the parser treats them as options of the program.
    private static func hint(_ arguments: [String]) -> String {
        guard let unknown = UnknownCommand(arguments), unknown.name.hasPrefix("-"), let parent = unknown.parent.last,
            let command = arguments.first(where: { argument in
                parent.configuration.subcommands.contains { $0.name == argument }
            })
        else { return "" }
        let path = (unknown.parent.map { $0.name } + [command]).joined(separator: " ")
        return ". Options come after the command: \(path) \(unknown.name)"
    }
}

extension ParsableCommand {
    static var name: String { configuration.commandName ?? "" }
}
