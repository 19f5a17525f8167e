import Foundation
import HTTPServing
import LosslessJSON

@testable import EmbeddedGateway

/// One line of a recording: a request and the real gateway's answer.
struct Exchange {
    let name: String
    let method: String
    let path: String
    let fields: [HTTPField]
    let status: Int
    /// Nil if the recording has none.
    let answer: String?
    let isAdministration: Bool
    /// The session that the answer began.
    let session: String?
    /// Whether the reader ended an endless answer.
    let isEndless: Bool
    private let recordedBody: String

    static func read(_ path: String) throws -> [Exchange] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let entry = try JSONText(Array(line.utf8)).root
            return entry.kind == .object ? Exchange(entry) : nil
        }
    }

    private init?(_ entry: JSONValue) {
        guard let name = entry["name"]?.string, let method = entry["method"]?.string, let path = entry["path"]?.string,
            var status = entry["status"]?.integer
        else { return nil }
        var answer = entry["body"]?.string
        // The answer after "100 Continue" was recorded as its body.
        if status == 100, let whole = answer?.wholeMatch(of: /HTTP\/1\.1 (\d+)(?s:.*?)\r\n\r\n((?s:.*))/) {
            status = Int(whole.1) ?? status
            answer = String(whole.2)
        }
        self.answer = answer
        self.name = name.trimmingCharacters(in: .whitespaces)
        self.method = method
        self.path = !path.contains("timeout=") ? path : path.replacing(/timeout=\d+/, with: "timeout=20")
        self.status = status
        recordedBody = entry["request_body"]?.string ?? ""
        session =
            entry["headers"]?.elements.compactMap { field -> String? in
                guard let value = field.element(1)?.string, value.hasPrefix("SyncGatewaySession=") else { return nil }
                return value.firstMatch(of: /^SyncGatewaySession=([0-9a-f]{40});/).map { String($0.1) }
            }.first
        isEndless = entry["ended"]?.string?.hasPrefix("us") == true
        isAdministration = entry["api"]?.string == "admin"
        let framing: Set<String> = ["connection", "content-length", "expect", "transfer-encoding"]
        fields = (entry["request_headers"].map { Array($0.elements) } ?? []).compactMap { field in
            guard let name = field.element(0)?.string, let value = field.element(1)?.string,
                !framing.contains(name.lowercased())
            else { return nil }
            return HTTPField(name, value)
        }
    }

    /// The first segment of the path, without scope and collection.
    var database: Substring { path.dropFirst().prefix { !"/.?".contains($0) } }

    /// The body sent. Binary bodies were recorded in base64, chunked ones with their framing, long ones cut.
    var body: [UInt8] {
        if let decoded = Data(base64Encoded: recordedBody), ReplayExceptions.binary.contains(name) {
            return Array(decoded)
        }
        if recordedBody.hasPrefix("7\r\n"), let chunk = recordedBody.wholeMatch(of: /7\r\n(.*)\r\n0\r\n\r\n/) {
            return Array(chunk.1.utf8)
        }
        if let whole = ReplayExceptions.restored[name] { return Array(whole.utf8) }
        if recordedBody.hasSuffix(" chars]"),
            let cut = recordedBody.wholeMatch(of: /(\{"s": "x*)\.\.\.\[(\d+) chars\]/), let count = Int(cut.2)
        {
            let filling = [UInt8](repeating: UInt8(ascii: "x"), count: count - cut.1.count - 2)
            return Array(cut.1.utf8) + filling + Array("\"}".utf8)
        }
        return Array(recordedBody.utf8)
    }

    /// The beginning of the answer, if it was cut when it was recorded. Otherwise nil.
    var beginning: Substring? {
        guard let answer, answer.hasSuffix(" chars]"), let cut = answer.firstMatch(of: /\.\.\.\[\d+ chars\]$/) else {
            return nil
        }
        return answer[..<cut.range.lowerBound]
    }
}

/// An answer without the parts that change each time: versions, boundaries.
struct ComparableAnswer {
    let text: String

    /// - Parameter hasVersions: Whether the recorded gateway had versions. Otherwise they are removed.
    init(_ answer: String, hasVersions: Bool) {
        var text = answer
        if hasVersions {
            text.replace(/cv":"[0-9a-f]{12}0000@[A-Za-z0-9+\/]{22}"/, with: #"cv":"VERSION""#)
        } else {
            text.replace(/"_?cv":"[^"]*",/, with: "")
            text.replace(/,"_?cv":"[^"]*"/, with: "")
        }
        text.replace(/seq":"(?:\d+::)?(\d+)"/) { "seq\":\($0.1)" }
        text.replace(/seq":"\d+:(\d+:\d+)"/) { "seq\":\"\($0.1)\"" }
        if text.contains("instance_start_time") {
            text = text.replacing(/"instance_start_time":\d+/, with: "\"instance_start_time\":0")
        }
        if text.contains("Couchbase Sync") { text = text.replacing(/"version":"Couchbase Sync Gateway\/.*"/, with: "") }
        var seen: [Substring] = []
        for boundary in text.matches(of: /--([0-9a-f]{60})/).map(\.1) where !seen.contains(boundary) {
            seen.append(boundary)
        }
        for (number, boundary) in seen.enumerated() {
            text = text.replacingOccurrences(of: boundary, with: "BOUNDARY-\(number)")
        }
        self.text = text
    }

    /// The generated ids of two bodies that differ only in them.
    func madeID(_ answer: ComparableAnswer) -> (recorded: String, made: String)? {
        let pattern = /"id":"([0-9a-f]{32})"/
        guard let old = text.firstMatch(of: pattern)?.1, let new = answer.text.firstMatch(of: pattern)?.1, old != new
        else { return nil }
        return (String(old), String(new))
    }

    /// Whether `other` continues after this exchange, apart from the last vector.
    func isBeginning(of other: ComparableAnswer) -> Bool { other.text.hasPrefix(text.dropLast(100)) }

    /// Compares byte for byte, or, if the answer contains documents, the content line by line.
    func isSame(as other: ComparableAnswer) -> Bool {
        if text == other.text { return true }
        let lines = (text.split(whereSeparator: \.isNewline), other.text.split(whereSeparator: \.isNewline))
        guard lines.0.count == lines.1.count else { return false }
        return zip(lines.0, lines.1).allSatisfy { Self.canonical($0) == Self.canonical($1) }
    }

    private static func canonical(_ line: Substring) -> [UInt8] {
        let bytes = Array(line.drop { $0 == "," }.utf8)
        guard let text = try? JSONText(bytes) else { return bytes }
        return CanonicalJSON.text(text.root)
    }
}
