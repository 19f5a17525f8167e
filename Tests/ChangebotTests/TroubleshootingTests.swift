import Foundation
import Testing

/// Troubleshooting pages quote only messages that the program can print, and stay short.
@Suite struct TroubleshootingTests {
    private static let catalogue = URL(filePath: Program.root + "/Sources/changebot/changebot.docc")

    /// All pages of the catalogue, by their names.
    private static let articles: [String: String] = {
        var texts: [String: String] = [:]
        for file in files(in: catalogue, ending: "md") {
            texts[file.deletingPathExtension().lastPathComponent] = try? String(contentsOf: file, encoding: .utf8)
        }
        return texts
    }()

    private static let pages = articles.filter { $0.key.hasPrefix("Troubleshooting") }.sorted { $0.key < $1.key }

    private static func files(in folder: URL, ending: String) -> [URL] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == ending }
    }

    // MARK: - Messages

    @Test func quotedMessagesExistInTheSources() throws {
        let messages = Self.pages.flatMap { page in QuotedMessage.all(in: page.value).map { (page.key, $0) } }
        #expect(messages.count > 50)
        let sources = try Self.files(in: URL(filePath: Program.root + "/Sources"), ending: "swift")
            .map { ProgramText(source: try String(contentsOf: $0, encoding: .utf8)).text }.joined(separator: "\n")
        for (page, message) in messages {
            #expect(message.isSpecific, "\(page).md:\(message.line): quote more words of '\(message.text)'")
            let isPrinted = message.isPrinted(by: sources)
            #expect(isPrinted, "\(page).md:\(message.line): the program does not print '\(message.text)'")
        }
    }

    @Test func messagesAreQuotedInBlocksAndTables() {
        let page = """
            A message in the text, such as `not this`.

            ```message
            one …: two
            three
            ```

            ```sh
            changebot run
            ```

            | message | what to do |
            |---|---|
            | `four`, `five …` | `not this` |

            | reason | what to do |
            |---|---|
            | `not this` | nothing |
            """
        let messages = QuotedMessage.all(in: page)
        #expect(messages.map(\.text) == ["one …: two", "three", "four", "five …"])
        #expect(messages.map(\.line) == [4, 5, 14, 14])
    }

    @Test(arguments: [
        (#"log("the run was stopped")"#, "the run was stopped"),
        (#"log("gave up after \(span): \(error)")"#, "gave up after …: …"),
        ("log(\n    \"the run \"\n        + \"was stopped\")", "the run was stopped"),
        ("log(\n    \"\"\"\n    the run \\\n    was stopped\n    \"\"\")", "the run was stopped"),
        (#"log("\"sync\" must be the text of a function")"#, #""sync" must be the text of a function"#),
    ])
    func literalIsFoundInSource(source: String, message: String) {
        let message = QuotedMessage(text: message, line: 1)
        #expect(message.isPrinted(by: ProgramText(source: source).text))
    }

    @Test(arguments: [
        (#"log("the run has stopped")"#, "the run was stopped"),
        (#"log("gave up: \(error)")"#, "gave up after …: …"),
        (#"log("after \(span), it gave up")"#, "it gave up … after …"),
        (#"log("it gave up"); \#(String(repeating: "a", count: 400)); log("after \(span)")"#, "it gave up … after …"),
        ("// the run was stopped", "the run was stopped"),
    ])
    func changedMessageIsMissing(source: String, message: String) {
        let message = QuotedMessage(text: message, line: 1)
        #expect(!message.isPrinted(by: ProgramText(source: source).text))
    }

    // MARK: - Pages

    @Test func pagesAreShort() {
        let counts = Self.pages.map { $0.value.split(whereSeparator: \.isWhitespace).count }
        #expect(counts.allSatisfy { $0 <= 2_500 }, "\(counts)")
        #expect(counts.reduce(0, +) <= 8_300, "\(counts)")
    }

    /// Links to a part of any page.
    @Test func linksLeadToHeadings() {
        let headings = Self.articles.mapValues { Self.anchors(of: $0) }
        var count = 0
        for (name, text) in Self.articles {
            for link in Self.matches(#"[(<](?:doc:(\w+))?#([^)>]+)[)>]"#, in: text) {
                guard let found = headings[link[0].isEmpty ? name : link[0]] else { continue }
                count += 1
                #expect(found.contains(link[1]), "\(name).md: \(link[0])#\(link[1])")
            }
        }
        #expect(count > 100)
    }

    /// The anchors of headings as DocC makes them: without punctuation, each space with its hyphens as one hyphen.
    private static func anchors(of text: String) -> Set<String> {
        let headings = matches(#"(?m)^##+ (.+)$"#, in: text).map { $0[0].filter { !"\"`',./:?!()".contains($0) } }
        return Set(headings.map { $0.split { $0 == " " || $0 == "-" }.joined(separator: "-") })
    }

    /// The groups of each match.
    private static func matches(_ pattern: String, in text: String) -> [[String]] {
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
        let whole = text as NSString
        return expression.matches(in: text, range: NSRange(location: 0, length: whole.length)).map { match in
            (1..<match.numberOfRanges).map { group in
                let range = match.range(at: group)
                return range.location == NSNotFound ? "" : whole.substring(with: range)
            }
        }
    }
}

/// A message of the program as a page quotes it: `…` stands for the variable parts.
///
/// A page quotes messages in blocks that begin with ` ```message `, one per line, and in the first column of tables
/// whose first heading is `message`.
private struct QuotedMessage {
    let text: String
    /// The line on the page, from 1.
    let line: Int

    private var parts: [String] {
        text.split(separator: "…").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.contains(where: \.isLetter) }
    }

    /// Whether the words are unlikely to match another message by chance.
    var isSpecific: Bool { parts.contains { $0.split(separator: " ").count > 1 } }

    /// Whether one statement contains all parts, in this order. Searching characters is slow in a debug build.
    func isPrinted(by program: String) -> Bool {
        guard let first = parts.first else { return false }
        return program.withCString { start in
            var from = start
            while let place = strstr(from, first) {
                from = UnsafePointer(place) + 1
                if Self.follow(parts.dropFirst(), UnsafePointer(place) + first.utf8.count) { return true }
            }
            return false
        }
    }

    /// Whether these parts follow soon after `start`.
    private static func follow(_ parts: ArraySlice<String>, _ start: UnsafePointer<CChar>) -> Bool {
        var start = start
        for part in parts {
            guard let place = strstr(start, part), UnsafePointer(place) - start < 400 else { return false }
            start = UnsafePointer(place) + part.utf8.count
        }
        return true
    }

    static func all(in page: String) -> [Self] {
        var messages: [Self] = []
        var isInBlock = false
        var isInTable = false
        for (index, line) in page.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                isInBlock = line == "```message"
            } else if isInBlock {
                messages.append(Self(text: line, line: index + 1))
            } else if isInTable, line.hasPrefix("|") {
                let spans = line.components(separatedBy: " | ")[0].components(separatedBy: "`").enumerated()
                messages += spans.filter { $0.offset % 2 == 1 }.map { Self(text: $0.element, line: index + 1) }
            } else {
                isInTable = line.hasPrefix("| message |")
            }
        }
        return messages
    }
}

/// The messages of a source file, and its other code, on one line: without comments, each literal in one piece.
private struct ProgramText {
    let text: String

    init(source: String) {
        let lines = source.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        text = lines.filter { !$0.hasPrefix("//") }.joined(separator: " ")
            .replacingOccurrences(of: "\\ ", with: "")
            .replacingOccurrences(of: "\" + \"", with: "")
            .replacingOccurrences(of: "\\\"", with: "\"")
    }
}
