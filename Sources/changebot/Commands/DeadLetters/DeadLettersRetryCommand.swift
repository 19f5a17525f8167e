internal import ArgumentParser
internal import BotState
internal import Bots
internal import Delivery
internal import Logging
internal import Rules

struct DeadLettersRetryCommand: AsyncParsableCommand, RuleCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry dead letters: apply the rules to the current revisions of their documents.",
        discussion: """
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/
            changebot dead-letters retry 12 --gateway http://127.0.0.1:4985/todo --rules rules/
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/ --rule stamp

            Write the numbers of single dead letters before the options: each word after --rules is a path.

            A dead letter is removed once its document is written or needs no change. Exits with 1 if some are left.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var selection: DeadLetterSelection
    @OptionGroup var deadLetters: DeadLetterFilterOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Option(
        help: ArgumentHelp(
            "Select one of the databases of a bot that follows many, by its name.", valueName: "name"))
    var database: String?

    func run() async throws {
        let filter = deadLetters.filter
        guard selection.isEmpty || filter.isEmpty else {
            throw CommandError(.usage, "use only one of: numbers, or --rule/--reason/--since")
        }
        let environment = try config.environment()
        let plan = try JobPlan(self, environment, try log.logger(environment), of: database)
        // Only the rules for changes, unless the dead letters are from a pass, which also applies files with `every`.
        let ruleSet = try plan.rules.ruleSet(isForChanges: !plan.name.hasPrefix("fix-"))
        try plan.place.catalogue.requireState()
        var job = plan.job(ruleSet)
        job.allowsConcurrentRuns = true
        let outcome = RetryOutcome()
        do {
            try await job.run { [selection, name = plan.name, options = plan.place.options] parts in
                try await DeadLetterRetry(
                    gateway: parts.gateway, ruleSet: ruleSet, state: parts.state, name: name,
                    choose: { try Self.choose(selection, filter, in: $0, found: options) },
                    outcome: outcome, settings: parts.settings, report: parts.report, logger: parts.logger
                ).run()
            }
        } catch let failure as CommandError where failure.code == .incomplete && plan.settings.preview == nil {
            // Reported below.
        }
        try report(outcome, plan, isFiltered: !filter.isEmpty)
    }

    /// - Parameter options: The command-line options that select the state, for advice in messages.
    private static func choose(
        _ selection: DeadLetterSelection, _ filter: DeadLetterFilter, in ledger: Ledger, found options: String
    ) throws -> DeadLetterRetry.Selection {
        guard selection.isEmpty else {
            return .numbers(try selection.deadLetters(in: ledger, found: options).compactMap(\.ledgerRecord?.number))
        }
        return .matching(filter, upTo: try ledger.highestDeadLetterNumber())
    }

    /// - Throws: ``CommandError`` with 1 if some dead letters are left.
    private func report(_ outcome: RetryOutcome, _ plan: JobPlan, isFiltered: Bool) throws(CommandError) {
        let isVerbose = plan.connection.logger.logLevel <= .info
        guard outcome.before > 0 else {
            if isVerbose { Console.complain(isFiltered ? "no dead letters match these filters" : "no dead letters") }
            return
        }
        guard plan.settings.preview == nil else { return }
        let before = Quantity.count(outcome.before, "dead letter")
        if isVerbose {
            let settled = outcome.before - outcome.left
            Console.complain(
                "\(Quantity.count(settled)) of \(before) \(settled == 1 || outcome.before == 1 ? "is" : "are") settled")
        }
        guard outcome.left == 0 else {
            let left =
                outcome.left == outcome.before
                ? "none of \(before) could be settled"
                : "\(Quantity.count(outcome.left)) of \(before) could not be settled"
            throw CommandError(
                .incomplete, "\(left); see why with: changebot dead-letters list \(plan.place.options)")
        }
    }
}
