internal import ArgumentParser
internal import CEmbeddedFiles

struct RulesSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of rule files, for editors.",
        discussion: """
            Example: changebot rules schema > rule-file.schema.json

            Then begin your rule files with this line:
            # yaml-language-server: $schema=rule-file.schema.json
            """)

    func run() { Console.print(schema: rule_file_schema.content) }
}
