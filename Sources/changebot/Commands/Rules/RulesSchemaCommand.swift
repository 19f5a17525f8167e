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

    func run() {
        // `print` adds the final line feed.
        let text = String(decoding: rule_file_schema.content.dropLast(), as: UTF8.self)
        for line in text.visibleLines { Console.print(line) }
    }
}
