import Bots
import DocumentFlow
import Foundation
import GatewayClient
import TestKit
import Testing

/// Runs that are refused because of their rules or their start leave nothing behind.
@Suite(.limitedParallelism) struct RefusedRunTests {
    private static let couchDB = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]
    private static let information =
        #"{"instance_start_time":"1","db_name":"todo","purge_seq":"0-x","update_seq":"0-x","doc_count":0}"#

    @Test(
        arguments: [
            (#"[{"put":{"keyspace":"_default.other","id":"a","document":{}}}]"#, .badConfiguration),
            (#"[{"put":{"keyspace":"No Such","id":"a","document":{}}}]"#, .badConfiguration),
            (#"[{"emit":{"file":"nowhere/lines.ndjson"}}]"#, .cannotCreate),
            (#"[{"emit":{"file":"lines.ndjson"}},{"emit":{"file":"nowhere/lines.ndjson"}}]"#, .cannotCreate),
            (#"[{"webhook":{"url":"http://127.0.0.1:9/","secret_files":["no.secret"]}}]"#, .badConfiguration),
            (#"[{"expire":"30d"}]"#, .badConfiguration),
        ] as [(String, RunError.Code)], [true, false])
    func refusedRunLeavesNothingBehind(rule: (then: String, code: RunError.Code), isFix: Bool) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer(information: Self.information, headers: Self.couchDB) { _, _ in
                .init(status: 404, headers: Self.couchDB, body: #"{"error":"not_found","reason":"missing"}"#)
            }
            defer { server.server.stop() }
            let before = try FileManager.default.contentsOfDirectory(atPath: directory)
            let rules = #"{"version":1,"rules":[{"name":"r","when":{"type":"task"},"then":\#(rule.then)}]}"#
            let error = await #expect(throws: RunError.self) {
                if isFix {
                    _ = try await server.fix(directory, rules: rules)
                } else {
                    _ = try await server.runOnce(directory, then: rule.then)
                }
            }
            #expect(error?.code == rule.code, "\(String(describing: error))")
            let after = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(after.filter { !before.contains($0) && !["rules.json", "fix.yaml"].contains($0) } == [])
            #expect(server.requests("/todo/_local/changebot.bot").filter { $0.method != "GET" }.isEmpty)
        }
    }

    /// Regression: it left a state and a mark.
    @Test func runWithRefusedSinceLeavesNothingBehind() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer(information: Self.information, headers: Self.couchDB) { _, _ in
                .init(
                    status: 400, headers: Self.couchDB,
                    body: #"{"error":"bad_request","reason":"Malformed sequence supplied in 'since' parameter."}"#)
            }
            defer { server.server.stop() }
            let ruleSet = try server.ruleSet(directory)
            let before = try FileManager.default.contentsOfDirectory(atPath: directory)
            var settings = BotSettings()
            settings.isOneShot = true
            settings.feed.since = .sequence(try #require(SequenceID("\"9-nonsense\"")))
            let bot = Bot(
                gateway: Gateway(try GatewayURL(server.server.url("/todo"))), ruleSet: ruleSet,
                state: try server.place(directory, ruleSet), settings: settings, report: RunReport(),
                logger: BotTestBed.logger)
            let error = await #expect(throws: RunError.self) { try await bot.run() }
            #expect(error?.code == .sequenceRefused)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == before.sorted())
            #expect(server.requests("/todo/_local/changebot.changebot").allSatisfy { $0.method == "GET" })
        }
    }
}
