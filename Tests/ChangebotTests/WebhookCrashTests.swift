import BotState
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// The process is killed while webhooks are sent: none is lost, and repeats have the same id.
@Suite(.limitedParallelism) struct WebhookCrashTests {
    private static let count = 30

    private static func rules(_ port: Int) -> String {
        """
        version: 1
        rules:
          - name: charge
            when: { type: order, payment: { $exists: false } }
            then:
              - webhook:
                  url: http://127.0.0.1:\(port)/charge
                  response: { merge: { payment: { jq: $response.body } } }
          - name: tell
            when: { type: note }
            then: [webhook: { url: 'http://127.0.0.1:\(port)/tell' }]
        """
    }

    private static func load(_ phone: Gateway) async throws {
        let documents = ["order", "note"].flatMap { type in
            (0..<count).map { number in
                BulkDocument(
                    id: DocumentID("\(type)\(number)"),
                    segments: [Array(#"{"_id":"\#(type)\#(number)","type":"\#(type)"}"#.utf8)])
            }
        }
        _ = try await phone.bulkDocs(documents)
    }

    @Test(arguments: [
        CrashPoint.decided, .outsideEffectsDone, .written, .recorded, .finished,
        .checkpointSaved,
    ])
    func killedWebhooksAreRepeatedWithTheSameID(place: CrashPoint) async throws {
        let seen = Monitor<[String: [String]]>([:])
        let server = try TestServer { connection in
            try connection.serve { request in
                let id = request.values(of: "webhook-id").first ?? ""
                let event = try JSONText(request.body).root
                let subject = event["subject"]?.string ?? ""
                seen.with { $0[subject, default: []].append(id) }
                try connection.answer(headers: ["Content-Type: application/json"], body: "\"paid-\(subject)\"")
            }
        }
        try await Program.withDirectory { directory in
            try await Program.withGateway { url in
                try Data(Self.rules(server.port).utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
                let phone = Gateway(try GatewayURL(url))
                try await Self.load(phone)
                func run(_ environment: [String: String]) async throws -> Program.Result {
                    try await Program.run(
                        [
                            "run", "--once", "--gateway", url, "--rules", directory + "/rules.yaml", "--state",
                            directory + "/state", "--log-level", "critical",
                        ], environment: environment)
                }
                #expect(try await run(["CHANGEBOT_CRASH_AT": place.rawValue]).code == -SIGKILL)
                let second = try await run([:])
                #expect(second.code == 0, "\(second.errors)")
                let events = seen.with { $0 }
                #expect(events.count == 2 * Self.count)
                #expect(events.values.allSatisfy { Set($0).count == 1 }, "\(events)")
                // At most one repeat, after the crash.
                #expect(events.values.allSatisfy { $0.count <= 2 })
                for lookup in try await phone.allDocs(keys: (0..<Self.count).map { DocumentID("order\($0)") }) {
                    guard case .found(let revision, let document) = lookup else {
                        Issue.record("not there")
                        continue
                    }
                    let id = document.root["_id"]?.string ?? ""
                    #expect(document.root["payment"]?.string == "paid-\(id)")
                    #expect(revision.text.hasPrefix("2-"))
                }
                await phone.shutdown()
            }
        }
    }
}
