internal import Foundation
internal import GatewayClient

/// Measures the program over 100,000 documents: full passes with `fix`, with jq rules, and with many rules instead of
/// one.
///
/// Needs the program beside this one (`swift build -c release`).
enum RulesBenchmark {
    private static let documents = 100_000

    static func run() async -> Bool {
        do {
            try await Program.withGateway { url, directory in
                try await load(url)
                try manyRules(url, directory)
                try fullPasses(url, directory)
            }
            return true
        } catch {
            print("can't measure: \(error)")
            return false
        }
    }

    private static func load(_ url: String) async throws {
        let gateway = Gateway(try GatewayURL(url))
        for start in stride(from: 0, to: documents, by: 1000) {
            _ = try await gateway.bulkDocs((start..<start + 1000).map(task))
        }
        await gateway.shutdown()
        print("\(documents) tasks, 1 in 3 without `complete`, 1 in 10 without `createdAt`")
    }

    private static func task(_ number: Int) -> BulkDocument {
        let id = "task-\(number)"
        let note = String(repeating: "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ", count: 5)
        let body =
            #"{"_id":"\#(id)","type":"task","task":"thing \#(number)",\#(number % 3 == 0 ? "" : #""complete":true,"#)"#
            + (number % 10 == 0 ? "" : #""createdAt":"2026-11-20T10:00:00.000Z","#)
            + #""taskList":{"id":"amy.groceries","owner":"amy"},"price":1.10,"note":"\#(note)"}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }

    /// Many rules of which none matches, so that only the filter is measured.
    private static func manyRules(_ url: String, _ directory: String) throws {
        for count in [1, 1000] {
            let rules = (0..<count).map {
                #"{"name":"r\#($0)","when":{"type":"task","task":"word \#($0)"},"then":[]}"#
            }
            let file = try write(rules, directory + "/\(count).json")
            try measure(
                "run --once, \(count) rules".padding(toLength: 28, withPad: " ", startingAt: 0),
                ["run", "--once", "--gateway", url, "--rules", file, "--state", "\(directory)/\(count)"], directory)
        }
    }

    private static func fullPasses(_ url: String, _ directory: String) throws {
        let file = try write(
            [
                #"{"name":"complete","when":{"type":"task","complete":{"$exists":false}},"then":[{"merge":{"complete":false}}]}"#,
                #"{"name":"created","when":{"type":"task","createdAt":{"$exists":false}},"then":[{"merge":{"createdAt":{"jq":"$now | todate"}}}]}"#,
            ], directory + "/fix.json")
        let fix = ["fix", "--gateway", url, "--rules", file, "--state", directory + "/fix"]
        for (label, more) in [
            ("fix --dry-run               ", ["--dry-run"]), ("fix                         ", []),
            ("fix again                   ", []),
        ] {
            try measure(label, fix + more, directory)
        }
    }

    private static func write(_ rules: [String], _ file: String) throws -> String {
        try Data(#"{"version":1,"rules":[\#(rules.joined(separator: ",\n"))]}"#.utf8).write(
            to: URL(fileURLWithPath: file))
        return file
    }

    private static func measure(_ label: String, _ arguments: [String], _ directory: String) throws {
        let summary = directory + "/summary.json"
        let usage = try Usage.of([Program.path] + arguments + ["--quiet", "--summary", summary])
        let written = Program.integer("written", of: summary)
        print("  \(label)\(usage), peak \(Program.peakMemory(summary)) MiB, written \(written)")
    }
}
