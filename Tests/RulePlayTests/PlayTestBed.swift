import Foundation
import HTTPServing
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import RulePlay

/// Answers to a page, without sockets, for rule files in a folder of their own.
struct PlayTestBed {
    let folder: String
    let answers: PlayAnswers
    let token: PlayToken
    let samples: SampleStore

    static let page = Array("<html><style>a{}</style><script>1</script></html>".utf8)
    static let host = "127.0.0.1:4990"

    static let rules = """
        version: 1
        rules:
          - name: stamp
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: true } }]

        """

    /// Calls `body` with answers for a file `r.yaml`, and further files.
    ///
    /// - Parameters:
    ///   - rules: The content of the file. Nil: it does not exist.
    ///   - change: Changes the settings.
    static func with(
        _ rules: String? = rules, files: [String] = [], change: (inout PlaySettings) -> Void = { _ in },
        _ body: (PlayTestBed) async throws -> Void
    ) async throws {
        try await withDirectory { folder in
            if let rules { try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml")) }
            let schema = try Data(contentsOf: URL(fileURLWithPath: root + "/assets/rule-file.schema.json"))
            var settings = PlaySettings(
                version: "1.2.3", files: (["r.yaml"] + files).map { PlayFile(path: folder + "/" + $0) }, page: page,
                schema: Array(schema), diff: { _, after in [after == nil ? "- all" : "+ new"] },
                write: { bytes, path in try Data(bytes).write(to: URL(fileURLWithPath: path)) },
                now: { 1_800_000_000 })
            settings.library = EditorLibrary(folder: folder + "/none")
            change(&settings)
            let token = PlayToken()
            try await body(
                PlayTestBed(
                    folder: folder, answers: try PlayAnswers(settings, token: token), token: token,
                    samples: settings.samples))
        }
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    var text: String { (try? String(contentsOfFile: folder + "/r.yaml", encoding: .utf8)) ?? "" }

    /// A request as the page sends it.
    func ask(_ name: String, _ body: String) async throws -> (status: Int, answer: JSONValue) {
        let answer = await answers.answer(request(name, body))
        guard case .whole(let bytes) = answer.body else { throw CancellationError() }
        return (answer.status, try JSONText(bytes).root)
    }

    func request(_ name: String, _ body: String) -> Request {
        Request(
            "POST", "/api/" + name,
            fields: [
                HTTPField("Host", Self.host), HTTPField("Origin", "http://" + Self.host),
                HTTPField("Sec-Fetch-Site", "same-origin"), HTTPField("Content-Type", "application/json"),
                HTTPField(RequestGuard.tokenField, token.text),
            ], body: Array(body.utf8))
    }

    func get(_ path: String) async -> Answer {
        await answers.answer(Request("GET", path, fields: [HTTPField("Host", Self.host)]))
    }

    /// The lines of an evaluation, by the name of their first member.
    func evaluate(_ text: String, _ more: String = #""visible":[0],"selected":0,"counts":true"#) async throws -> Lines {
        let answer = await answers.answer(
            request("evaluate", #"{"page":"p","file":0,"text":\#(text.json),\#(more)}"#))
        guard case .streamed(let make) = answer.body else { throw CancellationError() }
        let sent = Locked<[UInt8]>([])
        try await make { bytes in sent.withLock { $0 += bytes } }
        return Lines(try sent.withLock { $0 }.split(separator: UInt8(ascii: "\n")).map { try JSONText(Array($0)) })
    }

    struct Lines {
        let names: [String]
        private let texts: [JSONText]

        init(_ texts: [JSONText]) {
            self.texts = texts
            names = texts.map { $0.root.members.first { _ in true }?.name.string ?? "" }
        }

        /// The first member of the last line that begins with this name.
        subscript(name: String) -> JSONValue? {
            names.lastIndex(of: name).flatMap { texts[$0].root.members.first { _ in true }?.value }
        }

        /// The first member of each line that begins with this name.
        func all(_ name: String) -> [JSONValue] {
            zip(names, texts).filter { $0.0 == name }.compactMap { $0.1.root.members.first { _ in true }?.value }
        }

        func string(_ name: String) -> String { self[name].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "" }
    }
}

extension String {
    /// As a JSON string.
    var json: String {
        var writer = JSONWriter()
        writer.string(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONValue {
    var json: String { String(decoding: bytes, as: UTF8.self) }
}
