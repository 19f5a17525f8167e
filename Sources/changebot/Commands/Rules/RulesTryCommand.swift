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

            Reads the same input as import: NDJSON, a JSON array, CSV or MongoDB Extended JSON, plain or gzip. For \
            each document, in order, prints one object with id, fired, patch, attachments, deleted, effects and error. \
            Exits with 65 if a document can't be read.
            """)

    @OptionGroup var files: RuleFileArguments

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The documents; - for stdin.", valueName: "file"),
        completion: .file())
    var input: String

    @Option(
        help: ArgumentHelp(
            "The same documents as rules with 'changed', enter or leave last saw them, matched by _id. Default: the rules see each document for the first time.",
            valueName: "file"), completion: .file())
    var before: String?

    @OptionGroup var form: InputOptions

    @OptionGroup var now: NowOption

    @OptionGroup var slurps: SlurpOptions

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        let ruleSet = try files.load().ruleSet(slurps: slurps.load(environment))
        var trial = RuleTrial(ruleSet: ruleSet, now: try now.seconds(environment), input: input, notes: notes)
        if let before {
            trial.earlier = EarlierDocuments(path: before)
            try await read(before, environment) { try await trial.learn($0) }
        }
        do { try await read(input, environment) { try await trial.take($0) } } catch {
            try await trial.decideRest()
            throw error
        }
        try await trial.decideRest()
        try trial.earlier?.check(against: input, notes)
        if trial.hasErrors { throw CommandError(.invalidData) }
    }
}

extension RulesTryCommand {
    private func read(
        _ path: String, _ environment: Environment, _ take: (SourceItem) async throws -> Void
    ) async throws {
        let format = try form.format(environment)
        let delimiter = try form.delimiter(for: path, environment)
        do {
            var source = try DocumentSource(path: path, format: format, delimiter: delimiter)
            while let item = try source.next() { try await take(item) }
        } catch let error as SourceError {
            throw CommandError(error, path)
        }
    }
}

/// Decides documents in batches, and prints the decisions and the errors.
private struct RuleTrial {
    private let ruleSet: RuleSet
    /// Nil without `--before`.
    var earlier: EarlierDocuments?
    private let decider: Decider
    private let now: Int
    private let aggregates: [AggregateRule]
    private let input: String
    private let notes: NoteOptions
    private var gathered = GatheredDocuments<DecisionInput>()
    /// Whether any document could not be read.
    private(set) var hasErrors = false

    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - input: The path of the documents, for errors.
    init(ruleSet: RuleSet, now: Int, input: String, notes: NoteOptions) {
        self.ruleSet = ruleSet
        aggregates = ruleSet.aggregates
        decider = ruleSet.makeDecider()
        self.now = now
        self.input = input
        self.notes = notes
    }

    /// Records what rules see of an earlier document.
    ///
    /// - Throws: ``CommandError`` with 65 if it can't be read, or has no id.
    mutating func learn(_ item: SourceItem) async throws(CommandError) {
        let path = earlier?.path ?? ""
        switch item {
        case .document(let document):
            guard let id = document.text.root["_id"]?.string else {
                throw CommandError(
                    .invalidData,
                    "\(path):\(document.place): the document has no _id, so it can't be matched with the input; add it",
                    isListing: true)
            }
            earlier?.add(id, await ruleSet.lastSeen(of: document.text, now: now))
        case .error(let error): throw CommandError(.invalidData, "\(path):\(error.message)", isListing: true)
        }
    }

    /// Adds a document to the batch, and decides the batch when it is full.
    mutating func take(_ item: SourceItem) async throws {
        switch item {
        case .document(let document):
            let isDeleted = document.text.root["_deleted"]?.bool == true
            let seen = document.text.root["_id"]?.string.flatMap { earlier?.take($0) } ?? [:]
            let input = DecisionInput(document.text, isDeleted: isDeleted, lastSeen: seen)
            if let batch = gathered.add(input, byteCount: document.bytes.count) { try await decide(batch) }
        case .error(let error):
            hasErrors = true
            CommandError(.invalidData, "\(input):\(error.message)", isListing: true).report()
        }
    }

    /// Decides the documents that remain after the last batch.
    mutating func decideRest() async throws { try await decide(gathered.takeRest()) }

    private func decide(_ batch: [DecisionInput]) async throws {
        for (input, decision) in zip(batch, await decider.decide(on: batch, now: now)) {
            let report = DecisionReport(input.document, decision, names: ruleSet.names, aggregates: aggregates)
            try Console.write(report.line())
            for problem in report.damagedBlobs where try !notes.isQuiet() {
                let id = input.document.root["_id"]?.string ?? ""
                Console.warn("warning: '\(id)': incomplete Couchbase Lite blob: \(problem)")
            }
        }
    }
}

/// The documents of `--before`, and which of them belong to a document of the input.
private struct EarlierDocuments {
    let path: String
    /// What the rules remember of each document, by its id and the rule.
    private var lastSeen: [String: [String: LastSeen]] = [:]
    private var taken: Set<String> = []

    init(path: String) { self.path = path }

    mutating func add(_ id: String, _ states: [String: LastSeen]) { lastSeen[id] = states }

    /// What the rules remember of a document of the input. Nil if it is not in the file.
    mutating func take(_ id: String) -> [String: LastSeen]? {
        guard let states = lastSeen[id] else { return nil }
        taken.insert(id)
        return states
    }

    /// Warns of documents that the input does not have.
    ///
    /// - Throws: ``CommandError`` with 65 if the input has none of them.
    func check(against input: String, _ notes: NoteOptions) throws(CommandError) {
        let others = lastSeen.keys.filter { !taken.contains($0) }.sorted()
        guard !others.isEmpty else { return }
        let ids = AbbreviatedList.text(others.map { "'\($0)'" })
        guard !taken.isEmpty else {
            throw CommandError(
                .invalidData,
                "\(path): none of its documents is in \(input), so --before has no effect; give the same documents, with "
                    + "the same _ids: \(ids)", isListing: true)
        }
        guard try !notes.isQuiet() else { return }
        Console.warn("\(path): warning: not in \(input), so ignored: \(ids)")
    }
}
