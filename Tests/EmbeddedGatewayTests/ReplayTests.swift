import Foundation
import GRDB
import LosslessJSON
import Testing

@testable import EmbeddedGateway

/// Holds the embedded gateway against what Sync Gateway 4.1.1 answered, request by request.
///
/// Reads `sync-gateway-4.1.1.jsonl` in the folder `CHANGEBOT_WIRE`. Compared are status and body, but for `_cv`, which
/// the embedded gateway does not have, for ids that a gateway makes, and for the order and the spelling of members
/// within documents, which it leaves as they came.
@Suite struct ReplayTests {
    private static let folder = ProcessInfo.processInfo.environment["CHANGEBOT_WIRE"]

    @Test(.enabled(if: folder != nil), .timeLimit(.minutes(2)))
    func theDatabaseOpenAnswersAsRecorded() async throws {
        let gateway = try TestGateway()
        let folder = try #require(Self.folder)
        var madeIDs: [(recorded: String, made: String)] = []
        var compared = 0
        for exchange in try Exchange.read(folder + "/sync-gateway-4.1.1.jsonl") {
            if exchange.name == ReplayExceptions.end { break }
            try await gateway.skipSequences(ReplayExceptions.sequences[exchange.name] ?? 0)
            guard exchange.isRepeated else { continue }
            let answer = try await gateway.repeated(exchange)
            #expect(answer.status == exchange.status, "\(exchange.name)")
            let expected = madeIDs.reduce(exchange.plainBody) {
                $0.replacingOccurrences(of: $1.recorded, with: $1.made)
            }
            if let pair = Exchange.madeID(expected, answer.text) {
                madeIDs.append(pair)
            } else {
                #expect(exchange.isSame(answer.text, expected), "\(exchange.name): \(answer.text) for \(expected)")
            }
            compared += 1
        }
        #expect(compared > 60)
    }
}

extension TestGateway {
    fileprivate func skipSequences(_ count: Int) async throws {
        guard count > 0 else { return }
        let sequence = try await store.lastSequence() + count
        try await store.database.write { db in
            try db.execute(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [sequence])
        }
        store.signal.advance(to: sequence)
    }

    fileprivate func repeated(_ exchange: Exchange) async throws -> Collected {
        let answer = await router.answer(
            Request(exchange.method, exchange.path, fields: exchange.fields, body: Array(exchange.body.utf8)))
        return try await Collected(answer)
    }
}

/// One line of a recording.
private struct Exchange {
    let name: String
    let method: String
    let path: String
    let fields: [HTTPField]
    let body: String
    let status: Int
    let answer: String?
    private let isOpen: Bool

    static func read(_ path: String) throws -> [Exchange] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let entry = try JSONText(Array(line.utf8)).root
            return entry.kind == .object ? Exchange(entry) : nil
        }
    }

    private init?(_ entry: JSONValue) {
        guard let name = entry["name"]?.string, let method = entry["method"]?.string, let path = entry["path"]?.string,
            let status = entry["status"]?.integer
        else { return nil }
        self.name = name.trimmingCharacters(in: .whitespaces)
        self.method = method
        self.path = path
        self.status = status
        body = entry["request_body"]?.string ?? ""
        answer = entry["body"]?.string
        fields = (entry["request_headers"].map { Array($0.elements) } ?? []).compactMap { field in
            guard let name = field.element(0)?.string, let value = field.element(1)?.string else { return nil }
            return HTTPField(name, value)
        }
        isOpen = path.hasPrefix("/open") && entry["api"]?.string == "public" && entry["user"]?.kind == .null
    }

    var isRepeated: Bool {
        guard isOpen, ReplayExceptions.reasons[name] == nil, answer != nil else { return false }
        let head = path + " " + fields.map { "\($0.name): \($0.value)" }.joined(separator: " ")
        return !ReplayExceptions.absent.contains { head.contains($0.mark) }
    }

    /// Without `cv` and `_cv`.
    var plainBody: String {
        (answer ?? "").replacing(/"_?cv":"[^"]*",/, with: "").replacing(/,"_?cv":"[^"]*"/, with: "")
    }

    /// Two bodies that differ in the id that a gateway made: that id, in both.
    static func madeID(_ recorded: String, _ answer: String) -> (recorded: String, made: String)? {
        let pattern = /"id":"([0-9a-f]{32})"/
        guard let old = recorded.firstMatch(of: pattern)?.1, let new = answer.firstMatch(of: pattern)?.1, old != new
        else { return nil }
        return (String(old), String(new))
    }

    /// Byte for byte, or, where the answer holds documents, the same content line by line.
    func isSame(_ answer: String, _ expected: String) -> Bool {
        if answer == expected || method == "HEAD" { return true }
        guard method == "GET", status == 200 else { return false }
        let lines = (answer.split(whereSeparator: \.isNewline), expected.split(whereSeparator: \.isNewline))
        guard lines.0.count == lines.1.count else { return false }
        return zip(lines.0, lines.1).allSatisfy { canonical($0) == canonical($1) }
    }

    private func canonical(_ line: Substring) -> [UInt8] {
        let bytes = Array(line.drop { $0 == "," }.utf8)
        guard let text = try? JSONText(bytes) else { return bytes }
        return CanonicalJSON.text(text.root)
    }
}
