internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import Rules

struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Write, check, test, try and explain rule files. No gateway is needed.",
        subcommands: [
            RulesCheckCommand.self, RulesTestCommand.self, RulesTryCommand.self, RulesExplainCommand.self,
            RulesNewCommand.self, RulesPlayCommand.self, RulesSchemaCommand.self, RulesLSPCommand.self,
        ])
}

/// The rule files on the command line.
struct RuleFileArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Rule files, or folders of rule files.", valueName: "path"), completion: .yamlFile)
    var paths: [String]

    /// - Throws: `RuleFilesError` if a file is not valid or is missing.
    func load() throws(RuleFilesError) -> RuleFileSet { try RuleFileSet.load(paths: paths, kind: nil) }
}

/// The time that rules know as `$now`.
struct NowOption: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The value of $now in rules, such as 2026-11-20T10:00:00Z. Default: now.", valueName: "time"),
        transform: PointInTimeArgument.parse)
    var now: PointInTimeArgument?

    /// - Throws: ``CommandError`` with 64 if the variable is not a time.
    func seconds(_ environment: Environment) throws(CommandError) -> Int {
        try environment.value(now, "now", parse: PointInTimeArgument.init(argument:))?.seconds ?? Timestamp.secondsNow
    }
}
