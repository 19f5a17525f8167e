internal import ArgumentParser
internal import Rules

struct RulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say what is wrong in rule files, and what is legal but looks wrong.",
        discussion: """
            Example: changebot rules check rules/

            Ends with 0 if the files are valid, warnings or not; with 65 if they are not, or with --strict if there is \
            any warning.
            """)

    @OptionGroup var files: RuleFileArguments

    @Flag(help: "Warnings count as faults.")
    var strict = false

    func run() throws {
        let set = try files.load()
        let warnings = set.warnings()
        for warning in warnings { Console.complain(warning.description) }
        Console.print(
            "\(Counted(set.fileCount, "file")), \(Counted(set.ruleCount, "rule")), "
                + "\(Counted(set.testCount, "test")): valid, \(Counted(warnings.count, "warning"))")
        if strict, !warnings.isEmpty { throw CommandFailure(.invalidData) }
    }
}

/// A number and what it counts: `1 rule`, `2 rules`, `no rules`.
struct Counted: CustomStringConvertible {
    private let count: Int
    private let noun: String

    init(_ count: Int, _ noun: String) {
        self.count = count
        self.noun = noun
    }

    var description: String { "\(count == 0 ? "no" : "\(count)") \(noun)\(count == 1 ? "" : "s")" }
}
