internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import Outside
internal import Rules

struct RulesCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report errors in rule files, and warn about rules that are valid but look wrong.",
        discussion: """
            Example: changebot rules check rules/

            With --gateway, it also reports how expensive searches for related documents are: which index is missing \
            on CouchDB, or how many documents Sync Gateway reads. It warns about rules that this database does not \
            support: 'expire' on CouchDB, ids without a partition in a partitioned database, and keyspaces that do not \
            exist.

            Exits with 0 if the files are valid, even with warnings; with 65 if not. With --strict, also exits with 65 \
            on warnings. With --quiet, it prints only the reason of a failure.
            """)

    @OptionGroup var files: RuleFileArguments

    @Flag(help: "Treat warnings as errors.")
    var strict = false

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions

    @Flag(help: "With --gateway: create the indexes that related documents need (CouchDB).")
    var makeIndexes = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --gateway: how long to retry while the gateway fails. Default: 5m.", valueName: "duration"),
        transform: TimeSpan.parse)
    var retryFor: TimeSpan?

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        guard gateway.address != nil || !makeIndexes else {
            throw CommandError(.usage, "--make-indexes requires --gateway; add the URL of a CouchDB database")
        }
        let set = try files.load()
        let isStrict = try environment.isOn(strict, "strict")
        let isQuiet = try notes.isQuiet(environment)
        var warnings = (set.warnings() + set.emitWarnings()).map(\.description)
        if isStrict || !isQuiet {
            for warning in warnings { Console.warn(warning) }
        }
        // Only with the option: the variable may be set for other commands.
        if gateway.address != nil {
            let cost = try await cost(of: set, environment, isQuiet: isQuiet)
            if isStrict || !isQuiet {
                for warning in cost.warnings { Console.warn(warning.description) }
            }
            if !isQuiet {
                for note in cost.notes { Console.print(note) }
            }
            warnings += cost.warnings.map(\.description)
        }
        if !isQuiet {
            Console.print(
                "\(Counted(set.fileCount, "file")), \(Counted(set.ruleCount, "rule")), "
                    + "\(Counted(set.testCount, "test")): valid, \(Counted(warnings.count, "warning"))")
        }
        if isStrict, !warnings.isEmpty { throw CommandError(.invalidData) }
    }

    private func cost(
        of set: RuleFileSet, _ environment: Environment, isQuiet: Bool
    ) async throws -> RelatedCostCheck.Result {
        let log = StandardErrorLog(format: .chosen, logLevel: isQuiet ? .critical : .warning)
        let logger = Logger(label: "changebot") { _ in log }
        let choice = try gateway.choice(environment)
        try choice.requireFile()
        let contact = GatewayContact(settings: try environment.retries(retryFor: retryFor), logger: logger)
        var result = RelatedCostCheck.Result()
        try await GatewayConnection(choice, for: .existing, access, environment, logger).with { gateway in
            result = try await RelatedCostCheck(gateway: gateway, contact: contact, makesIndexes: makeIndexes)
                .check(set.relatedSelectors)
            guard !set.locatedWrites.isEmpty || set.hasEnteringRules else { return }
            let info = try await contact.connect(to: gateway)
            let compatibility = DatabaseCompatibility(gateway: gateway, info: info, writes: set.locatedWrites)
            result.warnings += compatibility.expiryWarnings + compatibility.idWarnings
            result.warnings += set.firstLookWarnings(documents: info.documentCount)
            result.warnings += try await contact.ask { try await compatibility.keyspaceWarnings() }
        }
        return result
    }
}

/// A number with its noun: `1 rule`, `2 rules`, `no rules`.
struct Counted: CustomStringConvertible {
    private let count: Int
    private let noun: String

    init(_ count: Int, _ noun: String) {
        self.count = count
        self.noun = noun
    }

    var description: String { count == 0 ? "no \(noun)s" : count.counted(noun) }
}
