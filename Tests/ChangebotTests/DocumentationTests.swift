import ArgumentParser
import Foundation
import TestKit
import Testing

@testable import changebot

/// README.md and the articles name only what exists, and everything that exists.
@Suite(.limitedParallelism) struct DocumentationTests {
    private static let catalogue = Program.root + "/Sources/changebot/changebot.docc"

    /// The texts of the articles by their names in links: `Rules`.
    private static let articles: [String: String] = {
        var texts: [String: String] = [:]
        let files = FileManager.default.enumerator(at: URL(filePath: catalogue), includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "md", let text = try? String(contentsOf: file, encoding: .utf8) else {
                continue
            }
            texts[file.deletingPathExtension().lastPathComponent] = text
        }
        return texts
    }()

    private static let readme = (try? String(contentsOfFile: Program.root + "/README.md", encoding: .utf8)) ?? ""

    /// The first group of each match.
    private static func matches(_ pattern: String, in text: String) -> [String] {
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
        let whole = text as NSString
        return expression.matches(in: text, range: NSRange(location: 0, length: whole.length)).map {
            whole.substring(with: $0.range(at: 1))
        }
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Program.root + "/" + path)
    }

    // MARK: - README

    @Test func readmeIsShortAndComplete() {
        #expect(!Self.readme.isEmpty)
        #expect(Self.readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 251)
        // `.ci/run` reads these blocks.
        #expect(Self.matches("(?m)^(```bash)$", in: Self.readme).count == 2)
    }

    @Test func readmeLinksLeadToFiles() {
        let links = Self.matches(#"\]\(([^)#:]+)[^)]*\)"#, in: Self.readme)
        #expect(links.count > 20)
        for link in links { #expect(Self.exists(link), "\(link)") }
    }

    /// A reader who begins with the README finds every article for users.
    @Test func readmeLinksToEachArticle() throws {
        for folder in ["Guide", "Commands", "Operations"] {
            for name in try FileManager.default.contentsOfDirectory(atPath: Self.catalogue + "/" + folder) {
                let link = "(Sources/changebot/changebot.docc/\(folder)/\(name))"
                #expect(Self.readme.contains(link), "\(link)")
            }
        }
    }

    // MARK: - Articles

    @Test func articleLinksLeadToArticles() {
        #expect(Self.articles.count > 30)
        for (name, text) in Self.articles {
            for link in Self.matches(#"doc:(\w+)"#, in: text) {
                #expect(Self.articles[link] != nil, "\(name): doc:\(link)")
            }
        }
    }

    @Test func filesNamedInArticlesExist() {
        var count = 0
        for (name, text) in Self.articles.merging(["README": Self.readme], uniquingKeysWith: { first, _ in first }) {
            for path in Self.matches(#"`((?:Sources|Tests|rules|assets)/[A-Za-z0-9_+./-]+)`"#, in: text) {
                // A pattern for several targets: `Tests/TARGETTests`.
                if path.contains("TARGET") { continue }
                count += 1
                #expect(Self.exists(path), "\(name): \(path)")
            }
        }
        #expect(count > 100)
    }

    /// Articles name many files without their folder: `Round+Reading.swift`.
    @Test func sourceFilesNamedWithoutFolderExist() {
        var names: Set = ["Package.swift"]
        for folder in ["Sources", "Tests"] {
            let files = FileManager.default.enumerator(atPath: Program.root + "/" + folder)
            while let file = files?.nextObject() as? String { names.insert(URL(filePath: file).lastPathComponent) }
        }
        for (name, text) in Self.articles {
            for file in Self.matches(#"`([A-Za-z0-9_+]+\.swift)`"#, in: text) {
                #expect(names.contains(file), "\(name): \(file)")
            }
        }
    }

    /// A filter that matches no test would succeed.
    @Test func testsNamedByTheCIExist() throws {
        let script = try String(contentsOfFile: Program.root + "/.ci/run", encoding: .utf8)
        let tests = Self.matches(#"--filter (\w+Tests/\w+)"#, in: script)
        #expect(!tests.isEmpty)
        let folder = Program.root + "/Tests"
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        for test in tests {
            let names = test.split(separator: "/")
            let path = try #require(paths.first { $0.hasSuffix("/\(names[0]).swift") }, "\(test)")
            let source = try String(contentsOfFile: folder + "/" + path, encoding: .utf8)
            #expect(source.contains("func \(names[1])("), "\(test)")
        }
    }

    /// A page that no other page lists can't be found in the rendered documentation.
    @Test func eachArticleIsATopic() {
        let listed = Set(Self.articles.values.flatMap { Self.matches(#"(?m)^- <doc:(\w+)>$"#, in: $0) })
        for name in Self.articles.keys where name != "changebot" { #expect(listed.contains(name), "\(name)") }
    }

    // MARK: - The command line

    /// A command as `--experimental-dump-help` describes it.
    private struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }

            let names: [Name]?
            let shouldDisplay: Bool
        }

        let commandName: String
        let shouldDisplay: Bool
        let arguments: [Argument]?
        let subcommands: [Command]?

        /// The commands without subcommands, with their full names.
        func leaves(below words: [String] = []) -> [(name: String, command: Command)] {
            let words = words + [commandName]
            guard shouldDisplay, commandName != "help" else { return [] }
            guard let subcommands, !subcommands.isEmpty else { return [(words.joined(separator: " "), self)] }
            return subcommands.flatMap { $0.leaves(below: words) }
        }
    }

    private static func commands() async throws -> [(name: String, command: Command)] {
        struct Help: Decodable { let command: Command }
        let result = try await Program.run(["--experimental-dump-help"])
        return try JSONDecoder().decode(Help.self, from: Data(result.output.utf8)).command.leaves()
    }

    /// The table of all commands links each to its article. The article or the page Commands describes all its options.
    @Test func eachCommandAndOptionIsDescribed() async throws {
        let overview = try #require(Self.articles["Commands"])
        let commands = try await Self.commands()
        #expect(commands.count > 20)
        for (name, command) in commands {
            guard let article = Self.matches("\\[`\(name)`\\]\\(doc:(\\w+)", in: overview).first else {
                Issue.record("Commands.md has no row for \(name)")
                continue
            }
            let text = overview + (Self.articles[article] ?? "")
            for argument in command.arguments ?? [] where argument.shouldDisplay {
                for option in argument.names ?? [] where option.kind == "long" {
                    let isNamed = !Self.matches("(--\(option.name))(?![\\w-])", in: text).isEmpty
                    #expect(isNamed, "\(article).md: \(name) --\(option.name)")
                }
            }
        }
    }

    /// Commands in code blocks and in the text of the example have all required arguments. Elsewhere in the text, the
    /// name of a command is enough.
    @Test func commandsInArticlesParse() throws {
        var count = 0
        for (name, text) in Self.articles.merging(["README": Self.readme], uniquingKeysWith: { first, _ in first }) {
            var commands = text.components(separatedBy: "```").enumerated().filter { !$0.offset.isMultiple(of: 2) }
                .flatMap { Self.matches(#"(?m)^changebot ([a-z][^\n]*)$"#, in: $0.element) }
            if name == "OrdersExample" { commands += Self.matches("`changebot ([^`]*)`", in: text) }
            for command in commands {
                guard let words = Self.words(command), Self.subcommands.contains(words.first ?? "") else { continue }
                count += 1
                do { _ = try Changebot.parseCommand(words) } catch {
                    Issue.record("\(name): changebot \(command): \(Changebot.message(for: error))")
                }
            }
        }
        #expect(count > 60)
    }

    private static let subcommands = Set(
        Changebot.configuration.subcommands.compactMap { $0.configuration.commandName })

    /// The words of a shell command, without a comment; nil for several commands, and for an abbreviated one.
    private static func words(_ command: String) -> [String]? {
        let command = command.firstRange(of: " #").map { String(command[..<$0.lowerBound]) } ?? command
        guard !command.contains(where: { "|<>$[…(\\;&".contains($0) }) else { return nil }
        var words: [String] = []
        for (index, part) in command.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            words += index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
        }
        return words
    }

    @Test func eachSettingIsDescribed() throws {
        let text = try #require(Self.articles["Configuration"])
        for key in SettingKey.all { #expect(text.contains("`\(key.name)`"), "\(key.name)") }
    }

    /// The table lists the program's exit codes.
    @Test func tableListsEachExitCode() throws {
        let text = try #require(Self.articles["Commands"])
        let section = try #require(text.firstRange(of: "\n## Exit codes\n"))
        let rows = Self.matches(#"(?m)^\| ([0-9, ]+) \|"#, in: String(text[section.upperBound...]))
        let listed = rows.flatMap { $0.split { !$0.isNumber }.compactMap { Int32($0) } }
        #expect(Set(listed) == Set(ExitStatus.allCases.map(\.rawValue)))
    }
}
