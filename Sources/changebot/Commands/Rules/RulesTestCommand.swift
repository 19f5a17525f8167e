internal import ArgumentParser
internal import Rules

struct RulesTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests in rule files.",
        discussion: "Example: changebot rules test rules/")

    @OptionGroup var files: RuleFileArguments
    @OptionGroup var now: NowOption

    @OptionGroup var color: ColorOption

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        do { try await test() } catch { throw CommandFailure(error) }
    }

    private func test() async throws {
        let environment = Environment()
        let style = try color.style(environment, of: .standardOutput)
        let results = try await files.load().runTests(now: now.seconds(environment))
        for result in results { for line in Self.lines(of: result, style) { Console.print(line) } }
        let failed = results.count { !$0.hasPassed }
        let verdict = results.isEmpty ? "" : failed == 0 ? ", all passed" : ", \(failed) failed"
        Console.print("\(Counted(results.count, "test"))\(verdict)")
        if failed > 0 { throw CommandFailure(.incomplete) }
    }

    private static func lines(of result: RuleTestResult, _ style: TerminalStyle) -> [VisibleLine] {
        guard !result.hasPassed else { return [style.green("ok    ") + VisibleLine(result.name)] }
        var lines = [style.red("FAIL  ") + VisibleLine("\(result.path):\(result.position.line): \(result.name)")]
        for mismatch in result.mismatches {
            lines.append(VisibleLine("      \(mismatch.what):"))
            lines += LineDiff(mismatch.expected, mismatch.actual).lines(style).map { "        " + $0 }
        }
        return lines
    }
}
