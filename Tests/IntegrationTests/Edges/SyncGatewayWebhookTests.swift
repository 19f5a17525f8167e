import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Sync Gateway's own webhooks, whose filters compare `doc` with `oldDoc`, and rules with `changed` and `enter` name the
/// same documents.
///
/// - Note: Source: `event_handlers` in the configuration of a database, Sync Gateway 3.3.7 and 4.1.1.
@Suite(.limitedParallelism) struct SyncGatewayWebhookTests {
    private static let filters = [
        ("completed", "doc.complete === true && oldDoc && oldDoc.complete !== true"),
        ("assigned", "doc.owner === 'amy' && (!oldDoc || oldDoc.owner !== 'amy')"),
    ]

    private static func handlers(_ receiver: TestReceiver) -> String {
        let handlers = filters.map { name, filter in
            """
            {"handler":"webhook","url":"\(receiver.server.url("/\(name)"))",
             "filter":"function (doc, oldDoc) { return \(filter) }"}
            """
        }
        return #"{"event_handlers":{"document_changed":[\#(handlers.joined(separator: ","))]}}"#
    }

    private static func rules(_ receiver: TestReceiver) -> String {
        """
        version: 1
        rules:
          - name: completed
            when: { type: task, complete: true }
            changed: [complete]
            then: [ webhook: { url: "\(receiver.server.url("/completed"))", body: { jq: . } } ]
          - name: assigned
            when: { type: task, owner: amy }
            on: [enter]
            then: [ webhook: { url: "\(receiver.server.url("/assigned"))", body: { jq: . } } ]
        """
    }

    private struct Task: Equatable {
        var complete: String?
        var owner: String

        static func random(_ random: inout SplitMix64) -> Task {
            Task(
                complete: [nil, "true", "false", "0"].randomElement(using: &random) ?? nil,
                owner: ["amy", "bob"].randomElement(using: &random) ?? "")
        }

        func body(_ revision: String?) -> String {
            let revision = revision.map { #","_rev":"\#($0)""# } ?? ""
            let complete = complete.map { #","complete":\#($0)"# } ?? ""
            return #"{"type":"task","owner":"\#(owner)"\#(complete)\#(revision)}"#
        }

        /// The events of a write, as both must report them.
        func events(_ id: String, after old: Task?) -> [String] {
            var events: [String] = []
            if complete == "true", let old, old.complete != "true" { events.append("/completed \(id)") }
            if owner == "amy", old?.owner != "amy" { events.append("/assigned \(id)") }
            return events
        }
    }

    private func events(_ receiver: TestReceiver) -> [String] {
        receiver.requests.map { "\($0.target) \((try? JSONText($0.body))?.root["_id"]?.string ?? "")" }.sorted()
    }

    @Test func bothNameTheSameDocuments() async throws {
        guard let server = try RealServer.fromEnvironment(), try await !RealServer.isCouchDB() else { return }
        let (theirs, ours) = (try TestReceiver(), try TestReceiver())
        _ = try await server.withDatabase { url in
            guard try await server.configure(url, Self.handlers(theirs)) else { return }
            try await withDirectory { directory in
                let bed = BotTestBed(url: url, settings: server.settings, directory: directory)
                let rules = try bed.rules(Self.rules(ours))
                var random = SplitMix64(seed: 899)
                var tasks: [String: (task: Task, revision: String?)] = [:]
                var expected: [String] = []
                for _ in 0..<12 {
                    for number in 0..<30 where Int.random(in: 0..<4, using: &random) > 0 {
                        let (id, task) = ("t\(number)", Task.random(&random))
                        let body = Array(task.body(tasks[id]?.revision).utf8)
                        let outcome = try await bed.phone.bulkDocs([try bulk(id, body)]).first
                        guard case .written(let revision)? = outcome else {
                            Issue.record("not written: \(String(describing: outcome))")
                            continue
                        }
                        expected += task.events(id, after: tasks[id]?.task)
                        tasks[id] = (task, revision.text)
                    }
                    try await bed.runOnce(rules)
                    await theirs.wait(for: expected.count)
                    #expect(events(ours) == expected.sorted())
                    #expect(events(theirs) == expected.sorted())
                }
                #expect(expected.count > 100)
                await bed.phone.shutdown()
            }
        }
    }

    private func bulk(_ id: String, _ body: [UInt8]) throws -> BulkDocument {
        BulkDocument(id: DocumentID(id), segments: [Array(#"{"_id":"\#(id)","#.utf8) + body.dropFirst()])
    }
}
