internal import ArgumentParser
internal import Logging
internal import Pipeline
internal import Rules
internal import Worker

struct DeadLettersRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try changes again that were set aside: the rules over their documents as they are now.",
        discussion: """
            Example: changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/

            A letter goes when its document is written, or needs nothing any more. Ends with 1 if some stay.
            """)

    @OptionGroup var selection: LetterSelection
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var log: LogOptions

    /// The letters that are tried again, by their numbers.
    private enum Chosen {
        case these([Int])
        case all(upTo: Int)

        var numbers: [Int]? {
            if case .these(let numbers) = self { numbers } else { nil }
        }

        /// How many of them there are now.
        func count(in ledger: Ledger) throws(StateError) -> Int {
            switch self {
            case .all(let last): return try ledger.deadLetterCount(upTo: last)
            case .these(let numbers):
                var count = 0
                for number in numbers where try ledger.deadLetter(number) != nil { count += 1 }
                return count
            }
        }
    }

    func run() async throws {
        do { try await retry(Environment()) } catch { throw CommandFailure(error) }
    }

    private func retry(_ environment: Environment) async throws {
        let logger = try log.logger(environment)
        let paths = try job.rulePaths(environment)
        if let path = job.common.summaryPath(environment) { try OutputFile.check(path) }
        let choice = try gateway.choice(environment)
        let existing = try ExistingState(state, environment)
        let place = StatePlace(choice: choice, directory: existing.directory, existing.name)
        let settings = try deliverySettings(environment)
        let (chosen, before) = try await existing.with(.beside) { ledger in
            let chosen = try choose(in: ledger)
            return (chosen, try chosen.count(in: ledger))
        }
        guard before > 0 else { return Console.complain("no dead letters") }
        let ruleSet = try RuleFileSet.load(paths: paths).ruleSet()
        let job = Job(
            options: job, gateway: gateway, environment: environment, logger: logger, ruleSet: ruleSet, place: place,
            choice: choice, settings: settings, isOneShot: true, isBesideRun: true)
        do {
            try await job.run { parts in
                Retrier(
                    gateway: parts.gateway, ruleSet: parts.ruleSet, ledger: parts.ledger, letters: chosen.numbers,
                    settings: settings, report: parts.report, logger: parts.logger)
            }
        } catch let failure as CommandFailure where failure.code == .incomplete && settings.preview == nil {
            // Told below.
        }
        guard settings.preview == nil else { return }
        try await tell(chosen, before, existing, isQuiet: logger.logLevel > .info)
    }

    private func choose(in ledger: Ledger) throws -> Chosen {
        guard selection.isEmpty else { return .these(try selection.letters(in: ledger).compactMap(\.filing?.number)) }
        return .all(upTo: try ledger.newestDeadLetter())
    }

    private func deliverySettings(_ environment: Environment) throws(CommandFailure) -> Delivery.Settings {
        var settings = try job.deliverySettings(environment, isDaemon: false)
        settings.savesCheckpoint = false
        return settings
    }

    /// - Throws: ``CommandFailure`` with 1 if some stay.
    private func tell(_ chosen: Chosen, _ before: Int, _ existing: ExistingState, isQuiet: Bool) async throws {
        let left = try await existing.with(.beside) { try chosen.count(in: $0) }
        if !isQuiet {
            Console.complain("\(Quantity.count(before - left)) of \(Quantity.count(before)) dead letters are settled")
        }
        if left > 0 { throw CommandFailure(.incomplete) }
    }
}
