internal import ArgumentParser
internal import Logging
internal import Pipeline
internal import Rules

struct DeadLettersRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry dead letters: apply the rules to their documents as they are now.",
        discussion: """
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/
            changebot dead-letters retry 12 --gateway http://127.0.0.1:4985/todo --rules rules/
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/ --rule stamp

            Single dead letters come before the options: what follows --rules is a path.

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

    func run() async throws {
        let filter = deadLetters.filter
        guard selection.isEmpty || filter.isEmpty else {
            throw CommandError(.usage, "use only one of: numbers, or --rule/--reason/--since")
        }
        let plan = try OneShotPlan(try config.environment(), gateway, access, state, job, common, log)
        let ruleSet = try plan.rules.ruleSet()
        let (name, place, logger) = (plan.name, plan.place, plan.logger)
        try place.catalogue.requireState()
        var job = plan.job(ruleSet)
        job.isBesideRun = true
        let outcome = RetryOutcome()
        do {
            try await job.run { [selection] parts in
                DeadLetterRetry(
                    gateway: parts.gateway, ruleSet: ruleSet, state: parts.state, name: name,
                    choose: { ledger in
                        guard selection.isEmpty else {
                            return .numbers(
                                try selection.deadLetters(in: ledger, found: place.options).compactMap(\.filing?.number)
                            )
                        }
                        return .matching(filter, upTo: try ledger.newestDeadLetter())
                    },
                    outcome: outcome, settings: parts.settings, report: parts.report, logger: parts.logger)
            }
        } catch let failure as CommandError where failure.code == .incomplete && plan.settings.preview == nil {
            // Reported below.
        }
        guard outcome.before > 0 else {
            if logger.logLevel <= .info {
                Console.complain(filter.isEmpty ? "no dead letters" : "no such dead letters")
            }
            return
        }
        guard plan.settings.preview == nil else { return }
        let before = Quantity.count(outcome.before, "dead letter")
        if logger.logLevel <= .info {
            let settled = outcome.before - outcome.left
            Console.complain("\(Quantity.count(settled)) of \(before) \(settled == 1 ? "is" : "are") settled")
        }
        guard outcome.left == 0 else {
            throw CommandError(
                .incomplete,
                "\(Quantity.count(outcome.left)) of \(before) \(outcome.left == 1 ? "is" : "are") left; "
                    + "see why with: changebot dead-letters list \(place.options)")
        }
    }
}
