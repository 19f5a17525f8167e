internal import ArgumentParser
internal import BotState
internal import Encodings
internal import Rules

struct BackfillCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Let a bot apply one rule to all documents.",
        discussion: """
            changebot backfill --rule stamp
            changebot backfill --rule stamp --selector '{"type":"task"}' --rate 50
            changebot backfill --rule stamp --cancel

            A running bot begins within seconds, and follows the feed meanwhile; otherwise the order takes effect at the \
            next start. 'changebot status' shows the progress. If the bot is stopped, it continues at its next start.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    @Option(help: "The name of the rule.")
    var rule: String

    @Option(help: ArgumentHelp("Only documents that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "On how many documents per second the rule may fire. Default: 200.", valueName: "number"),
        transform: Count.parse)
    var rate: Count?

    @Flag(help: "End the backfill of this rule. What it has done remains.")
    var cancel = false

    private static let defaultRate = 200

    func run() async throws {
        let state = try existing()
        guard !cancel else { return try await cancel(state) }
        let rate = rate?.number ?? Self.defaultRate
        guard rate > 0 else { throw CommandError(.usage, "--rate must be at least 1") }
        // Checked here, because the bot could only log what is wrong.
        if let selector { _ = try DocumentFilter(selector, name: "--selector") }
        try await state.ordering { ledger in
            let known = try KnownRules(ledger, of: state)
            try known.require([rule])
            try known.requireBackfillable(rule)
            if let current = try await ledger.orderBackfill(of: rule, selector: selector, rate: rate) {
                throw CommandError(
                    .temporaryFailure,
                    "a backfill of '\(rule)' is under way (\(Quantity.count(current.counts.read, "document")) so far); wait "
                        + "for it, or end it with: changebot backfill --rule \(rule.shellWord) --cancel \(state.options)"
                )
            }
            let report = OrderReport(ledger, state)
            try notes.note("a backfill of '\(rule)' is ordered: \(report.effect); see it with: \(report.status)")
        }
    }

    private func cancel(_ state: ExistingState) async throws {
        guard selector == nil, rate == nil else {
            throw CommandError(.usage, "--cancel takes neither --selector nor --rate; remove them")
        }
        try await state.ordering { ledger in
            guard let cancelled = try await ledger.cancelBackfill(of: rule) else {
                return try notes.note("no backfill of '\(rule)' is under way")
            }
            try notes.note(
                "the backfill of '\(rule)' is cancelled, after \(Quantity.count(cancelled.counts.read, "document"))")
        }
    }
}
