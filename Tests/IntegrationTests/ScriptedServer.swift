import Foundation
import GatewayClient
import Logging
import LosslessJSON
import Pipeline
import Rules
import TestKit
import Worker

/// A gateway that says what a test wants it to say, and remembers what it was asked.
final class ScriptedServer: Sendable {
    struct Answer: Sendable {
        var status = 200
        var headers = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]
        var body: String
        /// Sends no more than so many bytes of the body, then closes.
        var cutAfter: Int?
    }

    /// Takes the request and how many of this path came before it. Nil: closes without an answer.
    typealias Script = @Sendable (_ request: TestRequest, _ number: Int) -> Answer?

    let server: TestServer
    private let seen: Monitor<[TestRequest]>

    init(_ script: @escaping Script) throws {
        let seen = Monitor<[TestRequest]>([])
        self.seen = seen
        server = try TestServer { connection in
            try connection.serve { request in
                let number = seen.with { requests in
                    defer { requests.append(request) }
                    return requests.count { $0.path == request.path }
                }
                guard let answer = request.path == "/todo/" ? Self.information : script(request, number) else {
                    throw Hangup()
                }
                let length = answer.body.utf8.count
                let head = ["HTTP/1.1 \(answer.status) X", "Content-Length: \(length)"] + answer.headers
                let body = Array(answer.body.utf8).prefix(answer.cutAfter ?? length)
                try connection.write(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
                if answer.cutAfter != nil { throw Hangup() }
            }
        }
    }

    private struct Hangup: Error {}

    private static let information = Answer(body: #"{"db_name":"todo","update_seq":1000,"state":"Online"}"#)

    /// The requests of one path, such as `/todo/_bulk_docs`, in order.
    func requests(_ path: String) -> [TestRequest] { seen.with { $0.filter { $0.path == path } } }

    /// One `--once` run against this server with rules that merge `{"done":true}` into documents of type "task".
    func runOnce(_ directory: String) async throws -> (counters: RunCounters, deadLetters: [DeadLetter]) {
        let file = directory + "/rules.json"
        let rules =
            #"{"version":1,"rules":[{"name":"done","when":{"type":"task","done":{"$exists":false}},"then":[{"merge":{"done":true}}]}]}"#
        try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
        let ruleSet = try RuleSet.load(paths: [file])
        let url = try GatewayURL(server.url("/todo"))
        let ledger = try Ledger(
            directory: directory + "/state", name: "bot", gateway: url.description, ruleSetHash: ruleSet.hash)
        defer { ledger.close() }
        var settings = BotSettings()
        settings.isOneShot = true
        settings.delivery.writers = 1
        let report = RunReport()
        let bot = Bot(
            gateway: Gateway(url), ruleSet: ruleSet, ledger: ledger, settings: settings, report: report,
            logger: BotBench.logger)
        try await bot.run()
        return (await report.counters(), try ledger.deadLetters())
    }

    /// A feed with these rows and a proper end.
    static func feed(_ rows: [String], last: Int) -> Answer {
        Answer(body: "{\"results\":[\r\n" + rows.joined(separator: "\n,") + "\n],\n\"last_seq\":\"\(last)\"}\n")
    }

    static func row(_ number: Int) -> String {
        #"{"seq":\#(number),"id":"t\#(number)","doc":{"type":"task","n":1.10,"_id":"t\#(number)","_rev":"1-a","_cv":"18@x"},"changes":[{"rev":"1-a"}]}"#
    }

    /// The answer to a bulk write that takes every document.
    static func written(_ request: TestRequest) -> Answer {
        let rows = ids(in: request).map { #"{"id":"\#($0)","rev":"2-b"}"# }
        return Answer(status: 201, body: "[" + rows.joined(separator: ",") + "]")
    }

    static func ids(in request: TestRequest) -> [String] {
        guard let docs = try? JSONText(request.body).root["docs"] else { return [] }
        return docs.elements.compactMap { $0["_id"]?.string }
    }
}

extension TestRequest {
    var path: String { String(target.prefix { $0 != "?" }) }
}
