internal import ArgumentParser
internal import Encodings
internal import Rules

struct RulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report errors in rule files, and warn about what is valid but looks wrong.",
        discussion: """
            Example: changebot rules check rules/

            Exits with 0 if the files are valid, even with warnings; with 65 if not. With --strict, warnings exit with 65 \
            too. With --quiet, only the reason of a failure is printed.
            """)

    @OptionGroup var files: RuleFileArguments

    @Flag(help: "Treat warnings as errors.")
    var strict = false

    @OptionGroup var notes: NoteOptions

    func run() throws {
        let set = try files.load()
        let warnings = set.warnings()
        let environment = Environment()
        let isStrict = try environment.isOn(strict, "strict")
        let isQuiet = try notes.isQuiet(environment)
        if isStrict || !isQuiet {
            for warning in warnings { Console.warn(warning.description) }
        }
        if !isQuiet {
            Console.print(
                "\(Counted(set.fileCount, "file")), \(Counted(set.ruleCount, "rule")), "
                    + "\(Counted(set.testCount, "test")): valid, \(Counted(warnings.count, "warning"))")
        }
        if isStrict, !warnings.isEmpty { throw CommandError(.invalidData) }
    }
}

/// A number with its noun: `1 rule`, `2 rules`, `no rules`.
struct Counted: CustomStringConvertible {
    private let count: Int
    private let noun: String

    init(_ count: Int, _ noun: String) {
        self.count = count
        self.noun = noun
    }

    var description: String { count == 0 ? "no \(noun)s" : count.counted(noun) }
}
