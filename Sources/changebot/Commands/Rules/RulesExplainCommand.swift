internal import ArgumentParser
internal import LosslessJSON
internal import Rules

struct RulesExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain which rules fire for a document, and why the others do not.",
        discussion: "Example: changebot rules explain rules/ --document task.json")

    @OptionGroup var files: RuleFileArguments

    @Option(help: ArgumentHelp("A file with one JSON document, or - for stdin.", valueName: "file"))
    var document: String

    @Option(help: "Explain only the rule with this name. Can be repeated.")
    var rule: [String] = []

    @OptionGroup var now: NowOption

    @OptionGroup var slurps: SlurpOptions

    @OptionGroup var color: ColorOption

    func run() async throws {
        do { try await explain() } catch { throw CommandFailure(error) }
    }

    private func explain() async throws {
        let style = try color.style(Environment(), of: .standardOutput)
        let ruleSet = try files.load().ruleSet(only: rule.isEmpty ? nil : rule, slurps: slurps.load())
        let text = try Self.read(document)
        let input = DecisionInput(text, isDeleted: text.root["_deleted"]?.bool == true)
        for explanation in await ruleSet.explain(input, now: now.seconds) {
            for line in explanation.lines { Console.print(style.marked(line)) }
        }
    }

    private static func read(_ file: String) throws(CommandFailure) -> JSONText {
        let bytes = try InputLines.whole(file)
        do throws(JSONFault) {
            let text = try JSONText(bytes)
            if text.root.kind == .object { return text }
        } catch {
            let (line, column) = error.position(in: bytes.span)
            throw CommandFailure(.invalidData, "\(file):\(line):\(column): not JSON: \(error); correct it there")
        }
        throw CommandFailure(.invalidData, "\(file):1:1: a document must be an object; correct it")
    }
}
