internal import ArgumentParser
internal import Foundation

/// Measures how soon `rules play` answers after a keystroke.
struct KeystrokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keystroke", abstract: "The answers of rules play to an edited rule file.",
        discussion: """
            Each keystroke changes one rule, as the page sends it. The page shows the errors first, then the visible \
            documents, their details, and the counts of all documents last. The limit is 100 ms for what is visible.
            """)

    @Option(help: "Sample documents.")
    var documents = 10_000

    @Option(help: "Rules of the file. One in five computes with jq.")
    var rules = 100

    @Option(help: "Keystrokes; the first three are not counted.")
    var keystrokes = 24

    func validate() throws {
        guard documents > 0, rules > 0, keystrokes > 3 else {
            throw ValidationError("documents and rules must be 1 or more, and keystrokes 4 or more")
        }
    }

    func run() async throws {
        Program.require([])
        let answers = try await Program.withDirectory { directory in
            let input = try Program.write(
                (0..<documents).map { Self.document($0) + "\n" }.joined(), to: directory + "/documents.ndjson")
            let file = try Program.write(ruleFile(0), to: directory + "/rules.yaml")
            let playground = try Playground(rules: file, input: input)
            defer { playground.stop() }
            return try (0..<keystrokes).map { try playground.answer(to: ruleFile($0)) }.dropFirst(3)
        }
        print("\(documents) documents, \(rules) rules, \(answers.count) keystrokes; milliseconds")
        var table = Table(["shown", "median", "longest"])
        for (part, name) in Playground.parts.enumerated() {
            let times = answers.map { $0[part] }.sorted()
            table.add([name] + [times[times.count / 2], times[times.count - 1]].map { $0.formatted(decimals: 1) })
        }
        print(table.text)
    }

    private static let types = ["task", "order", "invoice", "list", "user", "product"]

    private static func document(_ number: Int) -> String {
        #"{"_id":"d\#(number)","type":"\#(types[number % types.count])","number":\#(number),"name":"name \#(number)","#
            + #""price":\#(number % 97),"items":[{"sku":"a","n":\#(number % 5)},{"sku":"b","n":2}]}"#
    }

    /// - Parameter keystroke: Changes a bound and a name in the middle of the file.
    private func ruleFile(_ keystroke: Int) -> String {
        let entries = (0..<rules).map { rule in
            let isEdited = rule == rules / 2
            let first = rule * 37 % documents + (isEdited ? keystroke : 0)
            let value = rule % 5 == 0 ? "{ jq: '.price * \(rule + 1)' }" : "\(rule)"
            return """
                  - name: rule \(rule)\(isEdited ? String(repeating: "x", count: keystroke) : "")
                    when: { type: \(Self.types[rule % Self.types.count]), number: { $gte: \(first), $lt: \(first + 200) }, level\(rule): { $exists: false } }
                    then: [{ merge: { level\(rule): \(value) } }]

                """
        }
        return "version: 1\nrules:\n" + entries.joined()
    }
}
