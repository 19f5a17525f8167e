internal import ArgumentParser
internal import LosslessJSON
internal import Rules

struct RulesExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain which rules fire for a document, and why the others don't.",
        discussion: "Example: changebot rules explain rules/ --document task.json")

    @OptionGroup var files: RuleFileArguments

    @Option(
        help: ArgumentHelp("A file with one JSON document, or - for stdin.", valueName: "file"), completion: .file())
    var document: String

    @Option(
        help: ArgumentHelp(
            "A file with the document as rules with 'changed', enter or leave last saw it. Default: they see it for the first time.",
            valueName: "file"), completion: .file())
    var before: String?

    @Option(help: "Explain only the rule with this name. Can be repeated.")
    var rule: [String] = []

    @Flag(help: "Treat the document as one of several leaf revisions, so rules with resolve come first.")
    var inConflict = false

    @OptionGroup var now: NowOption

    @OptionGroup var slurps: SlurpOptions

    @OptionGroup var color: ColorOption

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        let style = try color.style(environment, of: .standardOutput)
        let names = environment.values(rule, "rule")
        let ruleFiles = try files.load()
        // Evaluate all rules: others may change the document before the selected ones see it.
        let ruleSet = try ruleFiles.ruleSet(slurps: slurps.load(environment))
        try ruleFiles.require(names)
        let text = try Self.read(document)
        let now = try now.seconds(environment)
        var lastSeen: [String: LastSeen] = [:]
        if let before {
            let earlier = try Self.read(before)
            try Self.checkIDs(earlier, before, text)
            lastSeen = await ruleSet.lastSeen(of: earlier, now: now)
        }
        let input = DecisionInput(
            text, isDeleted: text.root["_deleted"]?.bool == true, lastSeen: lastSeen, isInConflict: inConflict)
        let (explanations, summary) = await ruleSet.explain(input, now: now, only: names)
        for explanation in explanations {
            for line in explanation.lines { Console.print(style.marked(line)) }
        }
        Console.print(summary)
    }

    /// - Throws: ``CommandError`` with 65 if the two are different documents.
    private static func checkIDs(_ before: JSONText, _ file: String, _ document: JSONText) throws(CommandError) {
        guard let earlier = before.root["_id"]?.string, let id = document.root["_id"]?.string, earlier != id else {
            return
        }
        throw CommandError(
            .invalidData,
            "\(file): its _id is '\(earlier)', but the document's is '\(id)'; give the same document, as it was before",
            isListing: true)
    }

    private static func read(_ file: String) throws(CommandError) -> JSONText {
        let bytes = try InputLines.whole(file)
        func failure(_ error: JSONError, _ message: String) -> CommandError {
            let (line, column) = error.position(in: bytes.span)
            return CommandError(.invalidData, "\(file):\(line):\(column): \(message)", isListing: true)
        }
        let text: JSONText
        do throws(JSONError) { text = try JSONText(bytes) } catch {
            if bytes.allSatisfy({ " \t\r\n".utf8.contains($0) }) {
                throw failure(error, "there is no document; write one JSON object")
            }
            if let second = startOfSecondDocument(error) { throw failure(second, "a second document begins; \(one)") }
            guard bytes.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "{") else {
                throw failure(
                    error,
                    "not JSON: explain reads one document, as a JSON object; for a table or other formats use "
                        + "`changebot rules try`, which reads the same files as import")
            }
            let remedy = JSONMistake.remedy(for: error, in: bytes) ?? "correct it there"
            throw failure(error, "not JSON: \(error); \(remedy)")
        }
        switch text.root.kind {
        case .object: return text
        case .array: throw failure(JSONError(.unexpectedEnd, at: 0), "this is a list of documents; \(one)")
        default: throw failure(JSONError(.unexpectedEnd, at: 0), "a document must be an object; correct it")
        }
    }

    private static let one =
        "explain takes one document: leave one in the file, or see all of them with `changebot rules try`"

    /// The place where a second document begins after a complete one, as in NDJSON; nil for any other error.
    private static func startOfSecondDocument(_ error: JSONError) -> JSONError? {
        guard case .unexpectedByte(UInt8(ascii: "{"), expected: .endOfText) = error.reason else { return nil }
        return error
    }
}
