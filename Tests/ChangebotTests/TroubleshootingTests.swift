import Foundation
import Testing

/// The page "Troubleshooting by message" has every message that the program can print.
///
/// A message is any string literal of the sources with three words in a row, or the text of a log line, unless it is
/// something else: see ``Message``. Looking at all literals rather than at known calls misses no new kind
/// of error. Of a message with changing parts, the longest part that does not change must be on the page.
///
/// What can't be checked: messages that are put together from parts of fewer than three words, such as `can't read` and
/// a file's name, `rule loop: A ↔ B`, and what ArgumentParser, libcurl, SQLite and jq say. Those on the page were
/// added by hand.
@Suite struct TroubleshootingTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")
    /// Not part of the program.
    private static let tools = [
        "TestKit", "TodoData", "TypedDocuments", "changebot-bench", "changebot-soak",
    ]

    /// The page, in whichever catalogue it is.
    private static func page() throws -> String {
        let files = FileManager.default.enumerator(
            at: sources.appending(path: "changebot"), includingPropertiesForKeys: nil)
        let pages = files?.compactMap { $0 as? URL }.filter { $0.lastPathComponent == "Troubleshooting.md" } ?? []
        try #require(pages.count == 1, "\(pages)")
        return Message.plain(try String(contentsOf: pages[0], encoding: .utf8))
    }

    private static func messages() throws -> [(file: String, message: Message)] {
        let prefix = sources.path(percentEncoded: false) + "/"
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var found: [(String, Message)] = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let path = String(file.path(percentEncoded: false).dropFirst(prefix.count))
            let isTool = tools.contains { path.hasPrefix($0 + "/") }
            if isTool || Message.isOther(file: path) { continue }
            let literals = SwiftLiterals(try String(contentsOf: file, encoding: .utf8)).literals
            found += literals.compactMap { Message($0) }.map { (path, $0) }
        }
        return found
    }

    @Test func everyMessageIsOnThePage() throws {
        let page = try Self.page()
        let messages = try Self.messages()
        // Fewer would mean that the scanner no longer sees them.
        #expect(messages.count > 1_000)
        let missing = messages.filter { !$0.message.stands(in: page) }
            .map { "Sources/\($0.file):\($0.message.line): \($0.message.fixed)" }
        #expect(missing.isEmpty, "not in Troubleshooting.md:\n\(missing.sorted().joined(separator: "\n"))")
    }

    // MARK: - What is a message

    @Test(arguments: [
        (#"throw RunError(.gaveUp, "gave up after \(span): \(error)")"#, "gave up after"),
        (#"logger.info("caught up", metadata: ["since": "one two three"])"#, "caught up"),
        (#"logger.warning(isDone ? "done" : "the run was stopped")"#, "done"),
        (#"report(at: place, "'\(name)' is there twice; remove one")"#, "' is there twice; remove one"),
        ("logger.notice(\n    \"\"\"\n    the database\n    is new\n    \"\"\")", "the database is new"),
        (##"let text = #"the "quoted" words stand"#"##, #"the "quoted" words stand"#),
        (#"f("\(a ? "it is one thing" : "x")")"#, "it is one thing"),
    ])
    func aMessageIsFound(source: String, text: String) {
        let found = SwiftLiterals(source).literals.compactMap { Message($0) }
        #expect(found.first?.fixed == Message.plain(text))
    }

    @Test(arguments: [
        #"@Option(help: "Write nothing to stderr.") var quiet: Bool"#,
        #"@Option(help: ArgumentHelp("How long to retry.", valueName: "time")) var wait: Wait?"#,
        #"CommandConfiguration(abstract: "List dead letters here.")"#,
        #"precondition(count > 0, "there is a first one")"#,
        #"try database.execute(sql: "DELETE FROM rule WHERE name is old")"#,
        #"// throw RunError(.gaveUp, "gave up after some time")"#,
        #"/* "gave up after some time" */"#,
        #"if reason.hasPrefix("not allowed to access") { return }"#,
        #"case "the word is known": return"#,
        #"writer.member("last_seq", "text/html; charset=utf-8")"#,
        #"logger.info("\(message)", metadata: ["a": "b"])"#,
    ])
    func somethingElseIsNoMessage(source: String) {
        #expect(SwiftLiterals(source).literals.compactMap { Message($0) }.isEmpty)
    }

    // MARK: - The scanner

    @Test func literalsAreFoundWithTheirPlaces() throws {
        let literals = SwiftLiterals(
            ##"""
            // "not this"
            log.warn("a \(f("b", x ? "c" : "d")) e", ["k": "v\u{e9}\n\"w"])
            let empty = "", raw = #"\n \#(one) "two""#, pattern = /[{(]/
            g(["after"])
            """##
        ).literals
        let parts = [
            ["a ", " e"], ["b"], ["c"], ["d"], ["k"], ["vé \"w"], [""], [#"\n "#, #" "two""#], ["after"],
        ]
        #expect(literals.map(\.parts) == parts)
        #expect(literals.map(\.line) == [2, 2, 2, 2, 2, 2, 3, 3, 4])
        try #require(literals.count == 9)
        #expect(literals[0].brackets == ["log.warn"])
        #expect(literals[1].brackets.prefix(1) == ["f"])
        #expect(literals[4].brackets == ["", "log.warn"])
        #expect(literals[6].before.hasSuffix("let empty ="))
        #expect(literals[8].brackets.prefix(2) == ["", "g"])
    }

    @Test func aLiteralOverSeveralLinesIsOneText() {
        let quotes = "\"\"\""
        let source = "x(\n    \(quotes)\n    one \\\n    two\n      three \\(a)\n    \(quotes), \"four\")"
        let literals = SwiftLiterals(source).literals
        #expect(literals.map(\.parts) == [[" one two three ", " "], ["four"]])
        #expect(literals.map(\.line) == [2, 6])
    }

    @Test func whatABlockIsInIsNotAroundItsLiterals() {
        let literals = SwiftLiterals(#"run("a") { try f(["b"]) }"#).literals
        #expect(literals.map(\.brackets) == [["run"], ["", "f"]])
    }

    @Test func anUnfinishedSourceEnds() {
        for source in ["\"abc", "\"\\(", "#\"", "\"\"\"\n a", "/* a", "f(\"\\u{", "\\", "\"\\"] {
            _ = SwiftLiterals(source).literals
        }
    }
}
