import Foundation
import LosslessJSON
import Testing

@testable import Rules

/// The folder of the recorded answers, which only this suite needs.
private let folder = ProcessInfo.processInfo.environment["CHANGEBOT_SUITES"]

/// Selectors against the recorded answers of CouchDB 3.5, if the environment names the folder of suites.
@Suite(.enabled(if: folder != nil, "CHANGEBOT_SUITES names no folder of suites"))
struct RecordedSelectorTests {
    /// Index operators that CouchDB's matcher accepts and rules do not.
    private static let refusedHere = ["$text", "$default"]

    @Test(arguments: ["couchdb-3.5.0", "collation-couchdb-3.5.0"])
    func matchingAgreesWithCouchDB(recording: String) throws {
        let documents = try lines(of: recording + ".docs.ndjson")
        let scratch = MatchScratch()
        var cases = 0
        for recorded in try lines(of: recording + ".cases.jsonl") {
            cases += 1
            let source = try #require(recorded.root["selector"])
            let errors = SourceErrors(path: "recorded")
            let node = try #require(JSONSource.read(Array(source.bytes), errors: errors))
            let text = String(decoding: source.bytes, as: UTF8.self)
            guard let selector = SelectorReader.read(node, errors: errors) else {
                let isRefused =
                    recorded.root["error"] != nil
                    || source.members.contains { member in
                        Self.refusedHere.contains { member.name.isString($0) }
                    }
                #expect(isRefused, "refused: \(text) \(errors.errors)")
                continue
            }
            #expect(recorded.root["error"] == nil, "accepted: \(text)")
            let expected = Set((recorded.root["ids"]?.elements).map { $0.compactMap(\.string) } ?? [])
            var matched: Set<String> = []
            for document in documents where try selector.matches(document.root, scratch) {
                matched.insert(document.root["_id"]?.string ?? "")
            }
            #expect(matched == expected, "\(text)")
        }
        #expect(cases > 200)
    }

    private func lines(of file: String) throws -> [JSONText] {
        let path = try #require(folder) + "/mango/" + file
        let bytes = try FileBytes.read(path, limit: 1 << 24)
        return try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONText(Array($0)) }
    }
}
