internal import ArgumentParser
internal import LosslessJSON
internal import Rules

struct RulesTryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Show what rules would do to documents from a file, one JSON object for each.",
        discussion: """
            Example: changebot rules try rules/ --input documents.ndjson

            Each line of the input is a document. For each, in order, one object with id, fired, patch, attachments, \
            deleted, effects and error is printed. Ends with 65 if a line is no JSON object.
            """)

    @OptionGroup var files: RuleFileArguments

    @Option(help: ArgumentHelp("Documents, one a line; - for stdin.", valueName: "file"))
    var input: String

    @OptionGroup var now: NowOption

    @OptionGroup var slurps: SlurpOptions

    /// Documents that are decided about together.
    private static let batchSize = 250
    private static let batchBytes = 4 << 20

    func run() async throws {
        do { try await tryOut() } catch { throw CommandFailure(error) }
    }

    private func tryOut() async throws {
        let ruleSet = try files.load().ruleSet(slurps: slurps.load())
        let decider = ruleSet.makeDecider()
        var lines = try InputLines(input)
        var bad = 0
        var batch: [DecisionInput] = []
        var bytes = 0
        func decide() async throws(CommandFailure) {
            for (input, decision) in zip(batch, await decider.decide(on: batch, now: now.seconds)) {
                let report = DecisionReport(input.document, decision, names: ruleSet.names)
                try Console.write(report.line())
            }
            batch = []
            bytes = 0
        }
        while let line = try lines.next() {
            do throws(CommandFailure) {
                let document = try Self.document(line, input)
                batch.append(DecisionInput(document, isDeleted: document.root["_deleted"]?.bool == true))
                bytes += line.bytes.count
            } catch {
                bad += 1
                error.report()
            }
            if batch.count == Self.batchSize || bytes > Self.batchBytes { try await decide() }
        }
        try await decide()
        if bad > 0 { throw CommandFailure(.invalidData) }
    }

    private static func document(_ line: InputLines.Line, _ file: String) throws(CommandFailure) -> JSONText {
        do throws(JSONFault) {
            let document = try JSONText(line.bytes)
            if document.root.kind == .object { return document }
        } catch {
            throw CommandFailure(
                .invalidData, "\(file):\(line.number):\(error.offset + 1): not JSON: \(error); correct the line",
                isListing: true)
        }
        throw CommandFailure(
            .invalidData, "\(file):\(line.number):1: a document must be an object; correct the line",
            isListing: true)
    }
}
