internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

struct RulesPlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a changed rule file would do to the documents of a database, compared with the old one.",
        discussion: """
            Example: changebot rules plan /etc/changebot/rules rules --gateway http://127.0.0.1:4985/todo

            Reads every document and decides it with both versions of the rules. Prints how often each rule fires, how \
            many documents each version would touch, and documents for which the two differ: the first one of each rule that \
            makes a difference, then the first others. Writes nothing, sends nothing and needs no state.

            Only what rules would do to the documents as they are now is compared. Rules with 'changed', enter or leave \
            are left out: they fire for later changes. So are conflicts and deleted documents. Answers of webhooks, \
            related documents and downloads are not fetched. The rules that differ between the two files are named.
            """)

    @Argument(
        help: ArgumentHelp("The rules as they are: a rule file or a folder.", valueName: "old"), completion: .yamlFile)
    var old: String

    @Argument(
        help: ArgumentHelp("The rules as they would be: a rule file or a folder.", valueName: "new"),
        completion: .yamlFile)
    var new: String

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions

    @Option(help: ArgumentHelp("Only documents that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show at most this many of the documents that differ. Default: 10.", valueName: "n"),
        transform: Count.parse)
    var show: Count?

    @Flag(help: "Print one JSON object for each document that differs, then one with the counts.")
    var json = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to retry while the gateway fails. Default: 5m.", valueName: "duration"),
        transform: TimeSpan.parse)
    var retryFor: TimeSpan?

    @OptionGroup var now: NowOption
    @OptionGroup var color: ColorOption
    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        let filter = try selector.map { text throws(RuleFilesError) in try DocumentFilter(text, name: "--selector") }
        var plan = RulePlan(
            old: try Self.rules(old), new: try Self.rules(new), now: try now.seconds(environment), filter: filter)
        let isQuiet = try notes.isQuiet(environment)
        if !isQuiet, plan.omitsRules {
            Console.warn("rules with 'changed', enter or leave are left out: they fire only for later changes")
        }
        let style = try color.style(environment, of: .standardOutput)
        var report = RulePlanReport(
            shown: show?.number ?? RulePlanReport.shownByDefault, isJSON: json, style: style)
        try await read(environment, isQuiet: isQuiet) { document in
            try await plan.add(document) { difference in try report.show(difference) }
        }
        try await plan.decideRest { difference in try report.show(difference) }
        try report.showTotals(plan)
    }

    /// - Throws: `RuleFilesError`, also for mappings.
    private static func rules(_ path: String) throws(RuleFilesError) -> RuleSet {
        try RuleFileSet.load(paths: [path]).ruleSet()
    }

    /// Calls `take` with each live document of the database.
    private func read(
        _ environment: Environment, isQuiet: Bool, _ take: (PlannedDocument) async throws -> Void
    ) async throws {
        let log = StandardErrorLog(format: .chosen, logLevel: isQuiet ? .critical : .warning)
        let logger = Logger(label: "changebot") { _ in log }
        let choice = try gateway.choice(environment)
        try choice.requireFile()
        let contact = GatewayContact(settings: try environment.retries(retryFor: retryFor), logger: logger)
        try await GatewayConnection(choice, for: .existing, access, environment, logger).with { gateway in
            _ = try await contact.connect(to: gateway, logLevel: .debug)
            var list = DocumentListReader(DocumentPages(of: gateway), contact.makeRetrier())
            while let page = try await list.next() {
                for row in page {
                    guard let document = PlannedDocument(row) else { continue }
                    try await take(document)
                }
            }
            guard list.isForbidden else { return }
            throw CommandError(
                .notAllowed,
                "this user may not list the documents: set a user who may, or export the documents and compare two runs "
                    + "of `changebot rules try`")
        }
    }
}

extension PlannedDocument {
    /// Nil for rows without a document.
    fileprivate init?(_ row: ListedDocument) {
        switch row.kind {
        case .deleted, .missing: return nil
        case .malformed(let error): self = .unreadable(id: row.id.text, "it is not JSON: \(error)")
        case .unreadable(let reason): self = .unreadable(id: row.id.text, reason)
        case .document:
            guard let document = row.document?.copied() else { return nil }
            self = .document(document)
        }
    }
}
