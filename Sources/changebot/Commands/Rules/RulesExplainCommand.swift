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

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        do { try await explain() } catch { throw CommandFailure(error) }
    }

    private func explain() async throws {
        let environment = Environment()
        let style = try color.style(environment, of: .standardOutput)
        let names = environment.values(rule, "rule")
        let ruleFiles = try files.load()
        // Other rules may change the document before these are asked: all of them decide.
        let ruleSet = try ruleFiles.ruleSet(slurps: slurps.load(environment))
        try ruleFiles.require(names)
        let text = try Self.read(document)
        let input = DecisionInput(text, isDeleted: text.root["_deleted"]?.bool == true)
        let (explanations, verdict) = await ruleSet.explain(input, now: try now.seconds(environment), only: names)
        for explanation in explanations {
            for line in explanation.lines { Console.print(style.marked(line)) }
        }
        Console.print(verdict)
    }

    private static func read(_ file: String) throws(CommandFailure) -> JSONText {
        let bytes = try InputLines.whole(file)
        do throws(JSONFault) {
            let text = try JSONText(bytes)
            if text.root.kind == .object { return text }
        } catch {
            let (line, column) = error.position(in: bytes.span)
            if case .unexpectedByte(UInt8(ascii: "{"), expected: .endOfText) = error.reason {
                throw CommandFailure(
                    .invalidData,
                    "\(file):\(line):\(column): a second document begins here, and explain takes one; give it a file with "
                        + "one of them, or take 'changebot rules try' for all")
            }
            throw CommandFailure(.invalidData, "\(file):\(line):\(column): not JSON: \(error); correct it there")
        }
        throw CommandFailure(.invalidData, "\(file):1:1: a document must be an object; correct it")
    }
}
