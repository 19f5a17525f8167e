internal import ArgumentParser
internal import Rules

struct RulesSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of rule files, for editors.",
        discussion: """
            Example: changebot rules schema > rule-file.schema.json

            A rule file names it in its first line:
            # yaml-language-server: $schema=rule-file.schema.json
            """)

    func run() { Console.print(RuleFileSchema.text) }
}
