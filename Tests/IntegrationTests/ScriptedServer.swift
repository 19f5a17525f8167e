import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import Logging
import LosslessJSON
import Rules
import ServiceLifecycle
import TestKit

/// A gateway whose answers a test scripts, and which records its requests.
final class ScriptedServer: Sendable {
    struct Answer: Sendable {
        var status = 200
        var headers = ScriptedServer.syncGateway
        var body: String
        /// The number of bytes of the body after which the connection is closed.
        var cutAfter: Int?
    }

    /// Gets the request and the number of earlier requests for this path. Nil closes the connection without an answer.
    typealias Script = @Sendable (_ request: TestRequest, _ number: Int) -> Answer?

    let server: TestServer
    private let seen: Monitor<[TestRequest]>
    private static let noMark = Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)

    static let syncGateway = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]

    /// - Parameters:
    ///   - information: The answer to `GET /todo/`, read at each request. Nil: a newest sequence that increases with
    ///     each document sent.
    ///   - headers: The headers of that answer.
    ///   - local: The answer to requests for local documents. Nil: they are stored.
    ///   - overrule: Gets a request for a local document and its answer; returns the answer that is sent instead.
    init(
        information: @autoclosure @escaping @Sendable () -> String? = nil,
        headers: [String] = ScriptedServer.syncGateway, local: Answer? = nil,
        overrule: (@Sendable (TestRequest, Answer) -> Answer)? = nil, _ script: @escaping Script
    ) throws {
        let seen = Monitor<[TestRequest]>([])
        self.seen = seen
        let marks = Monitor<[String: [UInt8]]>([:])
        let reached = Monitor<String?>(nil)
        server = try TestServer { connection in
            try connection.serve { request in
                let number = seen.with { requests in
                    defer { requests.append(request) }
                    return requests.count { $0.path == request.path }
                }
                let own =
                    request.path == "/todo/"
                    ? Answer(headers: headers, body: information() ?? Self.information(seen))
                    : Self.answerOfLocal(request, marks, local).map { overrule?(request, $0) ?? $0 }
                let end = reached.with { Self.isBehind($0, request) ? $0 : nil }.map { Self.feed([], last: $0) }
                guard let answer = own ?? end ?? script(request, number) else { throw Hangup() }
                if answer.cutAfter == nil { reached.with { $0 = Self.lastSequence(answer) ?? $0 } }
                let length = answer.body.utf8.count
                let head = ["HTTP/1.1 \(answer.status) X", "Content-Length: \(length)"] + answer.headers
                let body = Array(answer.body.utf8).prefix(answer.cutAfter ?? length)
                try connection.write(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
                if answer.cutAfter != nil { throw Hangup() }
            }
        }
    }

    private struct Hangup: Error {}

    private static func information(_ seen: Monitor<[TestRequest]>) -> String {
        let sent = seen.with { $0.filter { $0.path == "/todo/_bulk_docs" } }
        return #"{"db_name":"todo","update_seq":\#(1000 + sent.flatMap(ids).count),"state":"Online"}"#
    }

    /// The `last_seq` of an answer if it is a feed, as clients send it back.
    private static func lastSequence(_ answer: Answer) -> String? {
        (try? JSONText(answer.body))?.root["last_seq"].flatMap { SequenceID($0) }?.queryValue
    }

    /// Whether the request's `since` is after the last sequence. Scripts need not answer it: there are no changes.
    private static func isBehind(_ reached: String?, _ request: TestRequest) -> Bool {
        guard let reached, request.path == "/todo/_changes", !request.target.contains("feed=") else { return false }
        return request.target.contains("since=\(reached.percentEncodedForTests)&")
    }

    /// Stores local documents as a gateway does; nil for any other request.
    private static func answerOfLocal(_ request: TestRequest, _ marks: Monitor<[String: [UInt8]]>, _ fixed: Answer?)
        -> Answer?
    {
        guard request.path.contains("/_local/") else { return nil }
        if let fixed { return fixed }
        guard request.method == "PUT" else {
            guard let body = marks.with({ $0[request.path] }) else { return noMark }
            return Answer(body: #"{"_rev":"0-1","# + String(decoding: body.dropFirst(), as: UTF8.self))
        }
        let body = (try? JSONText(request.body))?.root.members.filter { $0.name.string != "_rev" } ?? []
        let members = body.map { String(decoding: $0.range.isEmpty ? [] : request.body[$0.range], as: UTF8.self) }
        marks.with { $0[request.path] = Array("{\(members.joined(separator: ","))}".utf8) }
        return Answer(status: 201, body: #"{"id":"_local/mark","ok":true,"rev":"0-1"}"#)
    }

    /// The requests of one path, such as `/todo/_bulk_docs`, in order.
    func requests(_ path: String) -> [TestRequest] { seen.with { $0.filter { $0.path == path } } }

    /// Returns once there have been `count` requests for the path.
    func wait(for count: Int, of path: String) async {
        await seen.wait { $0.count { $0.path == path } >= count }
    }

    private static let done = #"[{"merge":{"done":true}}]"#

    /// One `--once` run against this server, with a rule for documents of type "task" that are not "done".
    ///
    /// - Parameters:
    ///   - then: The rule's actions; by default it merges `{"done":true}`.
    ///   - laterRule: Another rule in JSON, which applies after it.
    func runOnce(
        _ directory: String, then: String = done, laterRule: String? = nil, retryFor: Duration = .seconds(300)
    ) async throws -> (counters: RunCounters, deadLetters: [DeadLetter]) {
        let ruleSet = try ruleSet(directory, then: then, laterRule: laterRule)
        let report = RunReport()
        try await bot(ruleSet, directory, report, once: true, retryFor: retryFor).run()
        let ledger = try ledger(directory, ruleSet)
        defer { ledger.close() }
        return (await report.counters(), try ledger.deadLetters())
    }

    /// One pass over the documents.
    func fix(_ directory: String, rules: String) async throws -> RunCounters {
        let file = directory + "/fix.yaml"
        try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
        let ruleSet = try RuleSet.load(paths: [file])
        let settings = Delivery.Settings()
        let report = RunReport()
        let fixer = Fixer(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), ruleSet: ruleSet,
            state: try place(directory, ruleSet),
            settings: settings, report: report, logger: BotTestBed.logger)
        try await fixer.run()
        return await report.counters()
    }

    /// A bot with the same rules that follows the feed until it is stopped.
    func daemon(_ directory: String) throws -> ServiceGroup {
        let ruleSet = try ruleSet(directory)
        return ServiceGroup(
            services: [try bot(ruleSet, directory, RunReport(), once: false)],
            logger: BotTestBed.logger)
    }

    func checkpoint(_ directory: String) throws -> SequenceID? {
        let ledger = try ledger(directory, try ruleSet(directory))
        defer { ledger.close() }
        return try ledger.checkpoint()?.sequence
    }

    func ruleSet(_ directory: String, then: String = done, laterRule: String? = nil) throws -> RuleSet {
        let file = directory + "/rules.json"
        let rule = #"{"name":"done","when":{"type":"task","done":{"$exists":false}},"then":\#(then)}"#
        let rules = #"{"version":1,"rules":[\#([rule, laterRule].compactMap(\.self).joined(separator: ","))]}"#
        try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
        return try RuleSet.load(paths: [file])
    }

    private func ledger(_ directory: String, _ ruleSet: RuleSet) throws -> Ledger {
        try Ledger.open(directory: directory + "/state", gateway: server.url("/todo"), ruleSetHash: ruleSet.hash)
    }

    /// The place of a run's state.
    func place(_ directory: String, _ ruleSet: RuleSet) throws -> StatePlace {
        let folder = directory + "/state"
        return StatePlace(
            StateCatalogue(directory: folder, name: "bot", engine: try TestEngine.instead(of: folder)),
            address: server.url("/todo"),
            ruleSetHash: ruleSet.hash, purpose: .run)
    }

    private func bot(
        _ ruleSet: RuleSet, _ directory: String, _ report: RunReport, once: Bool, retryFor: Duration = .seconds(300)
    ) throws -> Bot {
        var settings = BotSettings()
        settings.isOneShot = once
        settings.delivery.retries.isDaemon = !once
        settings.delivery.retries.retryFor = retryFor
        settings.delivery.capacity.writers = 1
        return Bot(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), ruleSet: ruleSet,
            state: try place(directory, ruleSet), settings: settings, report: report, logger: BotTestBed.logger)
    }

    /// A complete feed with these rows.
    static func feed(_ rows: [String], last: some CustomStringConvertible) -> Answer {
        Answer(body: "{\"results\":[\r\n" + rows.joined(separator: "\n,") + "\n],\n\"last_seq\":\"\(last)\"}\n")
    }

    static func row(_ number: Int) -> String {
        #"{"seq":\#(number),"id":"t\#(number)","doc":{"type":"task","n":1.10,"_id":"t\#(number)","_rev":"1-a","_cv":"18@x"},"changes":[{"rev":"1-a"}]}"#
    }

    /// The answer to a bulk write that accepts every document.
    static func written(_ request: TestRequest) -> Answer {
        let rows = ids(in: request).map { #"{"id":"\#($0)","rev":"2-b"}"# }
        return Answer(status: 201, body: "[" + rows.joined(separator: ",") + "]")
    }

    static func ids(in request: TestRequest) -> [String] {
        guard let docs = try? JSONText(request.body).root["docs"] else { return [] }
        return docs.elements.compactMap { $0["_id"]?.string }
    }
}

extension String {
    fileprivate var percentEncodedForTests: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? self
    }
}

extension TestRequest {
    var path: String { String(target.prefix { $0 != "?" }) }
}
