internal import ArgumentParser
internal import Rules

struct RulesSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of rule files, for editors.",
        discussion: """
            Example: changebot rules schema > rule-file.schema.json

            Then begin your rule files with this line:
            # yaml-language-server: $schema=rule-file.schema.json
            """)

    func run() { for line in RuleFileSchema.text.visibleLines { Console.print(line) } }
}
