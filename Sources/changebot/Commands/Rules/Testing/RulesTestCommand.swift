internal import ArgumentParser
internal import Logging
internal import Rules

struct RulesTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests in rule files, and measure how complete they are.",
        discussion: """
            Example: changebot rules test rules/ --coverage --threshold 90%

            Exits with 1 if a test fails, the coverage is below the threshold, or no test notices a change by --mutants. \
            With --quiet, only failures are reported, on stderr.
            """)

    @OptionGroup var files: RuleFileArguments
    @OptionGroup var now: NowOption

    @Flag(help: "Show which outcomes of conditions and actions the tests cover.")
    var coverage = false

    @Flag(help: "Show the rule files with the coverage of each line.")
    var annotate = false

    @Option(
        help: ArgumentHelp(
            "Exit with 1 if the tests cover less than this, such as 90%.", valueName: "percentage"),
        transform: Percentage.parse)
    var threshold: Percentage?

    @Flag(help: "Change the rules in small ways, and list the changes that no test notices.")
    var mutants = false

    @Flag(help: "With --mutants: add the missing tests to the rule files.")
    var write = false

    @Option(help: "The format of stdout: text, junit (XML), github (workflow commands) or json.")
    var format = TestReport.Format.text

    @OptionGroup var color: ColorOption

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        let style = try color.style(environment, of: .standardOutput)
        if annotate, format != .text {
            throw CommandError(
                .usage, "--annotate is for people, and --format \(format.rawValue) for programs; remove one of the two")
        }
        if write, !mutants {
            throw CommandError(.usage, "--write adds the tests that --mutants finds; add --mutants")
        }
        let set = try files.load()
        var report = try await report(set, environment)
        // Changes can only be judged by tests that pass.
        if mutants, report.failed.isEmpty { report.mutants = await set.runMutants(now: try now.seconds(environment)) }
        if format != .text {
            try print(report)
        } else if try notes.isQuiet(environment) {
            try complain(report, color.style(environment, of: .standardError))
        } else {
            for line in report.lines(style, isListed: coverage) { Console.print(line) }
            if annotate, let coverage = report.coverage { try Self.annotate(coverage, style) }
        }
        try finish(report)
    }

    private func finish(_ report: TestReport) throws {
        if mutants, report.mutants == nil {
            Console.warn("no mutants were made, because tests fail; correct them first")
        }
        var untested = report.untested
        if write, let mutants = report.mutants, untested != nil {
            try MissingTests(mutants).write(isQuiet: notes.isQuiet(Environment()))
            untested = report.leftAfterWriting(mutants)
        }
        let messages = [report.shortfall, untested].compactMap(\.self)
        if !messages.isEmpty { throw CommandError(.incomplete, listing: messages, isListing: false) }
        if !report.failed.isEmpty { throw CommandError(.incomplete) }
    }

    private func report(_ set: RuleFileSet, _ environment: Environment) async throws -> TestReport {
        let threshold = try environment.value(threshold, "threshold", parse: Percentage.init(argument:))
        let now = try now.seconds(environment)
        guard coverage || annotate || threshold != nil else { return TestReport(results: await set.runTests(now: now)) }
        let (results, coverage) = await set.measureTests(now: now)
        return TestReport(results: results, coverage: coverage, threshold: threshold?.permille)
    }

    private func print(_ report: TestReport) throws(CommandError) {
        switch format {
        case .text: break
        case .junit: try Console.write(report.jUnitLines.flatMap(\.visibleLines))
        case .github:
            try Console.write(report.gitHubLines + [report.summary, report.mutantSummary].compactMap(\.self))
        case .json: try Console.write(report.json)
        }
    }

    private static func annotate(_ coverage: RuleCoverage, _ style: TerminalStyle) throws {
        for file in coverage.files {
            let bytes = try InputLines.whole(file.path)
            let listing = CoverageListing(file, String(decoding: bytes, as: UTF8.self))
            Console.print("")
            for line in listing.lines(style) { Console.print(line) }
        }
    }

    /// Reports the failed tests and the missing ones on stderr.
    private func complain(_ report: TestReport, _ style: TerminalStyle) {
        let failed = report.failed.map { TestReport.lines(of: $0, style) }
        let untested = write ? [] : report.mutants?.untested ?? []
        for lines in failed + untested.map({ TestReport.lines(of: $0, style) }) {
            let text = lines.map(\.text).joined(separator: "\n")
            Console.complain(lines, LogLine(.error, text, exit: .incomplete))
        }
    }
}
