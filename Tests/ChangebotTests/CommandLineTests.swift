import ArgumentParser
import BotState
import Foundation
import TestKit
import Testing

@testable import changebot

/// The options of all commands: short names, completions, the version.
@Suite(.limitedParallelism) struct CommandLineTests {
    /// An option, a flag or an argument of a command, from `--experimental-dump-help`.
    private struct Parameter {
        let command: String
        let kind: String
        let long: String?
        let short: String?
        let valueName: String
        let completes: Bool
    }

    /// Regression: the name of the one command with `_superCommandName` was written into the replacement.
    @Test func parserMessageGetsTheFullNameOfTheCommand() {
        let command = Changebot.NamedCommand(["export", "merge", "a.ndjson", "merge"])
        #expect(command.path == ["changebot", "export", "merge"] && command.type == ExportMergeCommand.self)
        #expect(command.rest == ["a.ndjson", "merge"])
        let message = UsageError.withFullName("Usage: x\n  See 'merge --help' for more.", of: command.path)
        #expect(message == "Usage: x\n  See 'changebot export merge --help' for more.")
        let parent = command.type.configuration._superCommandName
        #expect(parent == command.path.dropLast().joined(separator: " "))
        #expect(Changebot.NamedCommand(["--quiet"]).path == ["changebot"])
    }

    /// In a debug build, the parser checks the options of a group five times as often as those of the command, and those
    /// of a group in a group 25 times. `run` took a third longer to start.
    @Test func optionGroupsAreFlat() {
        var groups = 0
        for command in Self.commands(Changebot.self) {
            for option in Mirror(reflecting: command.init()).children where Self.isGroup(option) {
                guard let group = Self.group(option) else {
                    Issue.record("\(command): \(type(of: option.value))")
                    continue
                }
                groups += 1
                let nested = Mirror(reflecting: group.init()).children.filter(Self.isGroup).compactMap(\.label)
                #expect(nested.isEmpty, "\(command), \(group)")
            }
        }
        #expect(groups > 100)
    }

    private static func commands(_ root: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [root] + root.configuration.subcommands.flatMap(commands)
    }

    private static func isGroup(_ option: Mirror.Child) -> Bool { option.value is any OptionsOfGroup }

    /// The type of the options in a group.
    private static func group(_ option: Mirror.Child) -> (any ParsableArguments.Type)? {
        (option.value as? any OptionsOfGroup)?.options
    }

    private static func parameters() async throws -> [Parameter] {
        let dump = try await Program.run(["--experimental-dump-help"])
        let root = try #require(try JSONSerialization.jsonObject(with: Data(dump.output.utf8)) as? [String: Any])
        return parameters(of: try #require(root["command"] as? [String: Any]), below: "")
    }

    private static func parameters(of command: [String: Any], below parent: String) -> [Parameter] {
        let name = parent + (command["commandName"] as? String ?? "")
        let own = (command["arguments"] as? [[String: Any]] ?? []).map { argument in
            let names = argument["names"] as? [[String: String]] ?? []
            return Parameter(
                command: name, kind: argument["kind"] as? String ?? "",
                long: names.first { $0["kind"] == "long" }?["name"],
                short: names.first { $0["kind"] == "short" }?["name"],
                valueName: argument["valueName"] as? String ?? "", completes: argument["completionKind"] != nil)
        }
        let subcommands = command["subcommands"] as? [[String: Any]] ?? []
        return own + subcommands.flatMap { parameters(of: $0, below: name + " ") }
    }

    // MARK: - Short options

    private static let shortNames = [
        "config": "c", "gateway": "g", "help": "h", "input": "i", "name": "n", "output": "o", "quiet": "q",
        "rules": "r",
    ]

    /// A letter has the same meaning in all commands, and every command with the option has the letter.
    @Test func shortNamesAgreeInAllCommands() async throws {
        let parameters = try await Self.parameters().filter { $0.kind != "positional" }
        #expect(parameters.count > 200)
        for parameter in parameters {
            let expected = parameter.long.flatMap { Self.shortNames[$0] }
            #expect(parameter.short == expected, "\(parameter.command) --\(parameter.long ?? "")")
        }
    }

    @Test func shortOptionsAreParsed() throws {
        let run = try RunCommand.parse(["-g", "embedded:", "-r", "a.yaml", "b.yaml", "-q", "-n", "x", "-c", "c.yaml"])
        #expect(run.gateway.address == "embedded:")
        #expect(run.job.rules == ["a.yaml", "b.yaml"])
        #expect(run.log.quiet)
        #expect(run.state.name == "x")
        #expect(run.config.config == "c.yaml")
        #expect(try ExportCommand.parse(["-o", "out.ndjson"]).output == "out.ndjson")
        #expect(try RulesTryCommand.parse(["r.yaml", "-i", "in.ndjson"]).input == "in.ndjson")
    }

    // MARK: - Completions

    /// Every option whose value is a file, a folder or one of a few names has a completion.
    @Test func filesAndFoldersAreCompleted() async throws {
        let files = ["file", "dir", "path", "level", "none|inline|dir"]
        let parameters = try await Self.parameters()
        for parameter in parameters where files.contains(parameter.valueName) || parameter.long == "dialect" {
            #expect(parameter.completes, "\(parameter.command) --\(parameter.long ?? parameter.valueName)")
        }
    }

    @Test(
        arguments: [
            ("bash", "complete -o filenames -o bashdefault -o default -F _changebot", "complete -o filenames -F"),
            ("zsh", "'*'{--rules,-r}'[Rule files, or folders of rule files.]:*-*:path:_files -g", "'(--rules -r)'"),
            ("fish", "-rfka '(__changebot_complete_files yaml yml json)'", "(set -l exts"),
            ("fish", "-rfa '(__fish_complete_directories)'", "(__changebot_complete_directories)"),
            ("fish", "complete -c changebot -n __changebot_is_in_rules", "(set -l exts"),
        ])
    func completionScriptsAreImproved(shell: String, part: String, former: String) async throws {
        let script = try await Program.run(["--generate-completion-script", shell])
        #expect(script.code == 0)
        #expect(script.output.contains(part))
        #expect(!script.output.contains(former))
    }

    @Test func onlyCompletionScriptsAreChanged() {
        #expect(CompletionScript.improved("complete -o filenames -F x\n") == "complete -o filenames -F x\n")
    }

    // MARK: - Version and manual

    @Test func versionNamesTheCommit() {
        let build = BuildCommit(hash: "99a0832", date: "2026-11-23")
        #expect(build.line(version: "1.2.3") == "1.2.3 (99a0832 2026-11-23)")
        #expect(BuildCommit(hash: "", date: "").line(version: "1.2.3") == "1.2.3 (development build)")
    }

    @Test func versionIsOneLine() async throws {
        let result = try await Program.run(["--version"])
        #expect(result.code == 0)
        #expect(result.output.hasPrefix(ProgramVersion.current + " ("))
        #expect(result.output.split(separator: "\n", omittingEmptySubsequences: false).count == 2)
    }

    /// The manual pages list the program's exit codes.
    @Test func manualListsEachExitCode() throws {
        let manual = try String(contentsOfFile: Program.root + "/.package/man-pages", encoding: .utf8)
        for code in ExitStatus.allCases { #expect(manual.contains("\n    (\(code.rawValue), "), "\(code)") }
    }
}

/// An option group of any type.
private protocol OptionsOfGroup {
    var options: any ParsableArguments.Type { get }
}

extension OptionGroup: OptionsOfGroup {
    fileprivate var options: any ParsableArguments.Type { Value.self }
}
