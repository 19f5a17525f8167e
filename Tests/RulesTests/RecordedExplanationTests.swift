import Foundation
import LosslessJSON
import Testing

@testable import Rules

/// The folder of the recorded selectors, which only this suite needs.
private let folder = ProcessInfo.processInfo.environment["CHANGEBOT_SUITES"]

@Suite(.enabled(if: folder != nil, "CHANGEBOT_SUITES names no folder of suites"))
struct RecordedExplanationTests {
    /// For every recorded selector and document, explaining agrees with matching, and the printed selector parses to
    /// the same selector.
    @Test(arguments: ["couchdb-3.5.0", "collation-couchdb-3.5.0"])
    func explanationAgreesWithMatching(recording: String) throws {
        let documents = try lines(of: recording + ".docs.ndjson")
        let scratch = MatchScratch()
        let print = SelectorText(literalLimit: .max)
        var cases = 0
        for recorded in try lines(of: recording + ".cases.jsonl") where recorded.root["error"] == nil {
            let source = try #require(recorded.root["selector"])
            let errors = SourceErrors(path: "recorded")
            let node = try #require(JSONSource.read(Array(source.bytes), errors: errors))
            guard let recordedSelector = SelectorReader.read(node, errors: errors) else { continue }
            let printed = print.clause(recordedSelector)
            let readBack = try selector("{ \(printed) }")
            cases += 1
            for document in documents {
                var explainer = SelectorExplainer(scratch)
                let expected = try recordedSelector.matches(document.root, scratch)
                let explanation = explainer.explain(recordedSelector, named: "when", of: document.root)
                #expect(explanation.result == (expected ? .holds : .fails), "\(printed)")
                #expect(try readBack.matches(document.root, scratch) == expected, "\(printed)")
            }
        }
        #expect(cases > 150)
    }

    private func lines(of file: String) throws -> [JSONText] {
        let path = try #require(folder) + "/mango/" + file
        let bytes = try FileBytes.read(path, limit: 1 << 24)
        return try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONText(Array($0)) }
    }
}
