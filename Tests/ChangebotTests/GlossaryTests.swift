import Foundation
import TestKit
import Testing

/// Pages, messages and comments use the terms of the page Words.
///
/// The page is the only list: the third column of its table has the words that each term replaces.
@Suite struct GlossaryTests {
    private static let catalogue = "Sources/changebot/changebot.docc"
    /// The glossary itself, which names the replaced words.
    private static let glossary = catalogue + "/Guide/Words.md"

    private struct Entry {
        let term: String
        let replaced: [String]
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: Program.root + "/" + path, encoding: .utf8)
    }

    private static func entries() throws -> [Entry] {
        try text(glossary).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[1] != "term", !cells[1].hasPrefix("-") else { return nil }
            return Entry(term: cells[1], replaced: cells[3].split(separator: ", ").map(String.init))
        }
    }

    /// The paths of all files with this ending in `Sources`.
    private static func paths(endingIn suffix: String) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: Program.root + "/Sources"))
        return files.compactMap { $0 as? String }.filter { $0.hasSuffix(suffix) }.map { "Sources/" + $0 }.sorted()
    }

    private static func replacing(_ pattern: String, in text: String, with template: String) throws -> String {
        try NSRegularExpression(pattern: pattern).stringByReplacingMatches(
            in: text, range: NSRange(text.startIndex..., in: text), withTemplate: template)
    }

    /// The visible text of a page: without code and addresses of links.
    private static func prose(of page: String) throws -> String {
        let withoutBlocks = try replacing("(?s)```.*?```", in: page, with: "")
        return try replacing(#"`[^`]*`|\]\([^)]*\)"#, in: withoutBlocks, with: "`")
    }

    /// The comments and the string literals of a source file. A multiline comment becomes one.
    private static func prose(ofSource source: String) throws -> String {
        let joined = try replacing(#"(?m)(^ *//[^\n]*)\n *//[/ ]*"#, in: source, with: "$1 ")
        let pattern = try NSRegularExpression(pattern: #"(?s)""".*?"""|"(?:[^"\\\n]|\\.)*"|//[^\n]*"#)
        let whole = joined as NSString
        return pattern.matches(in: joined, range: NSRange(location: 0, length: whole.length))
            .map { whole.substring(with: $0.range) }.joined(separator: "\n")
    }

    /// The places of replaced words in a text: "hand over: … handed over at once …".
    private static func findings(in text: String, _ entries: [Entry]) throws -> [String] {
        let words = entries.flatMap { entry in entry.replaced.map { ($0, entry.term) } }
        let alternatives = words.map { NSRegularExpression.escapedPattern(for: $0.0).replacing(" ", with: #"\s+"#) }
        let pattern = try NSRegularExpression(
            pattern: #"\b(?:"# + alternatives.joined(separator: "|") + #")\b"#, options: .caseInsensitive)
        let whole = text as NSString
        return pattern.matches(in: text, range: NSRange(location: 0, length: whole.length)).map { match in
            let start = max(0, match.range.location - 40)
            let end = min(whole.length, match.range.location + match.range.length + 40)
            let found = whole.substring(with: match.range).lowercased()
            let term = words.first { $0.0 == found }?.1 ?? "the glossary's term"
            let context = whole.substring(with: NSRange(location: start, length: end - start))
            return "write '\(term)' instead of '\(found)': …\(context)…"
        }
    }

    @Test func glossaryIsAlphabetical() throws {
        let terms = try Self.entries().map(\.term)
        #expect(terms.count > 40)
        #expect(terms == terms.sorted { $0.lowercased() < $1.lowercased() })
        #expect(Set(terms).count == terms.count)
    }

    @Test func eachTermHasOneSentence() throws {
        for line in try Self.text(Self.glossary).split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5, !cells[1].contains("term") else { continue }
            let sentence = cells[2].trimmingCharacters(in: .whitespaces)
            #expect(sentence.hasSuffix(".") && !sentence.dropLast().contains(". "), "\(sentence)")
        }
    }

    @Test func noTermIsReplaced() throws {
        let entries = try Self.entries()
        let terms = Set(entries.map(\.term))
        let replaced = entries.flatMap(\.replaced)
        #expect(!replaced.isEmpty)
        #expect(terms.isDisjoint(with: replaced))
    }

    @Test func pagesUseTheTerms() throws {
        let entries = try Self.entries()
        let pages = try Self.paths(endingIn: ".md").filter { $0 != Self.glossary } + ["README.md"]
        #expect(pages.count > 50)
        for page in pages {
            for finding in try Self.findings(in: try Self.prose(of: try Self.text(page)), entries) {
                Issue.record("\(page): \(finding)")
            }
        }
    }

    @Test func messagesAndCommentsUseTheTerms() throws {
        let entries = try Self.entries()
        let sources = try Self.paths(endingIn: ".swift")
        #expect(sources.count > 500)
        for source in sources {
            for finding in try Self.findings(in: try Self.prose(ofSource: try Self.text(source)), entries) {
                Issue.record("\(source): \(finding)")
            }
        }
    }

    @Test(arguments: [
        ("/// Bytes are handed\n    /// over at once.", true), ("let text = \"it was Handed over\"", true),
        ("let handed = over", false), ("// A second-hand overcoat.", false),
    ])
    func replacedWordIsFoundInCommentsAndLiterals(source: String, isFound: Bool) throws {
        let entries = [Entry(term: "deliver", replaced: ["hand over", "handed over"])]
        #expect(try !Self.findings(in: Self.prose(ofSource: source), entries).isEmpty == isFound)
    }

    @Test func codeOnPagesIsNotText() throws {
        let entries = [Entry(term: "deliver", replaced: ["handed over"])]
        #expect(try Self.findings(in: Self.prose(of: "`handed over`\n```\nhanded over\n```\n"), entries).isEmpty)
        #expect(try Self.findings(in: Self.prose(of: "It is handed\nover."), entries).count == 1)
    }

    @Test func pagesAreOfReadableLength() throws {
        for page in try Self.paths(endingIn: ".md") where page.hasPrefix(Self.catalogue) {
            let count = try Self.text(page).split(whereSeparator: \.isWhitespace).count
            #expect(count <= 2_500, "\(page): \(count) words")
        }
    }
}
