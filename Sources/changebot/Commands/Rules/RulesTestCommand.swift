internal import ArgumentParser
internal import Logging
internal import Rules

struct RulesTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests in rule files.",
        discussion: """
            Example: changebot rules test rules/

            Exits with 1 if a test fails. With --quiet, only failed tests are reported, on stderr.
            """)

    @OptionGroup var files: RuleFileArguments
    @OptionGroup var now: NowOption

    @OptionGroup var color: ColorOption

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        let style = try color.style(environment, of: .standardOutput)
        let results = try await files.load().runTests(now: now.seconds(environment))
        let failed = results.count { !$0.hasPassed }
        if try notes.isQuiet(environment) {
            return try Self.complain(results.filter { !$0.hasPassed }, color.style(environment, of: .standardError))
        }
        for result in results { for line in Self.lines(of: result, style) { Console.print(line) } }
        let ending = results.isEmpty ? "" : failed == 0 ? ", all passed" : ", \(failed) failed"
        Console.print("\(Counted(results.count, "test"))\(ending)")
        if failed > 0 { throw CommandError(.incomplete) }
    }

    /// Reports the failed tests on stderr.
    ///
    /// - Throws: ``CommandError`` with 1 if a test fails.
    private static func complain(_ failed: [RuleTestResult], _ style: TerminalStyle) throws(CommandError) {
        for result in failed {
            let lines = lines(of: result, style)
            let text = lines.map(\.text).joined(separator: "\n")
            Console.complain(lines, LogLine(.error, text, exit: .incomplete))
        }
        if !failed.isEmpty { throw CommandError(.incomplete) }
    }

    private static func lines(of result: RuleTestResult, _ style: TerminalStyle) -> [VisibleLine] {
        guard !result.hasPassed else { return [style.green("ok    ") + VisibleLine(result.name)] }
        var lines = [style.red("FAIL  ") + VisibleLine("\(result.path):\(result.position.line): \(result.name)")]
        for mismatch in result.mismatches {
            let note = mismatch.isPartial ? " (without the members that the test does not name)" : ""
            lines.append(VisibleLine("      \(mismatch.what)\(note):"))
            lines += LineDiff(mismatch.expected, mismatch.actual).lines(style).map { "        " + $0 }
        }
        return lines
    }
}
