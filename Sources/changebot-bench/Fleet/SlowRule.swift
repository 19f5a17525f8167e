internal import Foundation

/// A rule with a jq program that takes a certain processor time for each document, on this machine.
struct SlowRule {
    private static let documents = 100
    private static let steps = 40_000
    private static let runs = 3

    /// The path of the rule file.
    let file: String
    /// How often its loop runs.
    let steps: Int

    /// Measures how long the loop of a jq program takes.
    ///
    /// - Parameter milliseconds: What the rule takes for a document.
    init(milliseconds: Double, in directory: String) throws {
        let input = directory + "/calibration.ndjson"
        let lines = (0..<Self.documents).map { #"{"_id":"t\#($0)","type":"task"}"# + "\n" }.joined()
        try Data(lines.utf8).write(to: URL(fileURLWithPath: input))
        func time(_ steps: Int) throws -> Double {
            let file = try Self.write(steps, directory)
            let command = Processors.pinned([Program.path, "rules", "try", file, "--input", input], to: 0)
            return Figures.median(
                try (0..<Self.runs).map { _ in
                    let usage = try Usage(of: command)
                    guard usage.status == 0 else { throw BenchmarkError("changebot rules try failed") }
                    return usage.processor
                })
        }
        let seconds = try (time(Self.steps) - time(1)) / Double(Self.documents * Self.steps)
        steps = max(1, Int(milliseconds / 1000 / seconds))
        file = try Self.write(steps, directory)
    }

    private static func write(_ steps: Int, _ directory: String) throws -> String {
        let file = directory + "/slow.json"
        let sum = "{sum: (reduce range(\(steps)) as $i (0; . + $i))}"
        let rule =
            #"{"name":"sum","when":{"type":"task","sum":{"$exists":false}},"then":[{"merge":{"jq":"\#(sum)"}}]}"#
        try Data(#"{"version":1,"rules":[\#(rule)]}"#.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}
