internal import ArgumentParser
internal import LosslessJSON
internal import Rules
internal import Transfer

struct RulesTryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Show what rules would do to the documents in a file.",
        discussion: """
            Example: changebot rules try rules/ --input documents.ndjson

            The input is read as import reads it: NDJSON, a JSON array, CSV or MongoDB Extended JSON, plain or gzip. \
            For each document, in order, one object with id, fired, patch, attachments, deleted, effects and error is \
            printed. Ends with 65 if a document can't be read.
            """)

    @OptionGroup var files: RuleFileArguments

    @Option(help: ArgumentHelp("The documents; - for stdin.", valueName: "file"))
    var input: String

    @OptionGroup var form: InputOptions

    @OptionGroup var now: NowOption

    @OptionGroup var slurps: SlurpOptions

    @OptionGroup var notes: NoteOptions

    /// How many documents are decided at once.
    private static let batchSize = 250
    private static let batchBytes = 4 << 20

    func run() async throws {
        let environment = Environment()
        let ruleSet = try files.load().ruleSet(slurps: slurps.load(environment))
        let decider = ruleSet.makeDecider()
        let now = try now.seconds(environment)
        let format = try form.format(environment)
        let delimiter = try form.delimiter(for: input, environment)
        var bad = 0
        var batch: [DecisionInput] = []
        var bytes = 0
        func decide() async throws(CommandError) {
            for (input, decision) in zip(batch, await decider.decide(on: batch, now: now)) {
                let report = DecisionReport(input.document, decision, names: ruleSet.names)
                try Console.write(report.line())
            }
            batch = []
            bytes = 0
        }
        func take(_ item: SourceItem) {
            switch item {
            case .document(let document):
                let isDeleted = document.text.root["_deleted"]?.bool == true
                batch.append(DecisionInput(document.text, isDeleted: isDeleted))
                bytes += document.bytes.count
            case .error(let error):
                bad += 1
                CommandError(.invalidData, "\(input):\(error.complaint)", isListing: true).report()
            }
        }
        do {
            var source = try DocumentSource(path: input, format: format, delimiter: delimiter)
            while let item = try source.next() {
                take(item)
                if batch.count == Self.batchSize || bytes > Self.batchBytes { try await decide() }
            }
        } catch let error as SourceError {
            try await decide()
            throw CommandError(error, input)
        }
        try await decide()
        if bad > 0 { throw CommandError(.invalidData) }
    }
}

extension SourceDocumentError {
    /// The error as `LINE:COLUMN: what is wrong; what to do`.
    fileprivate var complaint: String {
        switch reason {
        case .json: "\(place): not JSON: \(reason); correct it"
        case .notAnObject: "\(place): a document must be an object; correct it"
        default: "\(self)"
        }
    }
}
