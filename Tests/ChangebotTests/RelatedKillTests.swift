import Bots
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// A list with very many tasks is deleted, and the bot that deletes the tasks is killed.
@Suite(.limitedParallelism(isLong: true)) struct RelatedKillTests {
    private static let count = 4_000
    private static let rules = """
        version: 1
        rules:
          - name: delete-tasks
            on: [delete]
            when: {}
            then:
              - related: { selector: { type: task, taskList.id: { jq: ._id } }, then: [delete: {}] }
        """

    /// Random moments within the time that the whole work takes.
    private struct Moments {
        private var state: UInt64 = 20_261_124

        mutating func next(below limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }
    }

    @Test func onlyTheTasksAreDeleted() async throws {
        try await Program.withDirectory { directory in
            try await Program.withGateway { url in
                let phone = Gateway(try GatewayURL(url))
                try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
                try await load(phone)
                let arguments = [
                    "run", "--once", "--gateway", url, "--rules", directory + "/rules.yaml", "--state",
                    directory + "/state", "--log-level", "critical",
                ]
                var (kills, runs) = (0, 0)
                // Three times in the middle of a page, each time further on, then at random moments.
                for place in ["relatedWritten:3", "relatedRemembered:4", "relatedWritten:5"] {
                    let result = try await Program.run(arguments, environment: ["CHANGEBOT_CRASH_AT": place])
                    #expect(result.code == -SIGKILL, "\(place): \(result.errors)")
                    kills += 1
                }
                #expect(try await live("t", phone) == Self.count - 12 * 250)
                var moments = Moments()
                while runs < 8 {
                    runs += 1
                    let process = try ChildProcess([Program.path] + arguments)
                    try await Task.sleep(for: .milliseconds(Int(50 + moments.next(below: 400) * UInt64(runs))))
                    process.kill()
                    let code = await process.wait()
                    if code == 0 { break }
                    #expect(code == -SIGKILL)
                    kills += 1
                }
                #expect(try await Program.run(arguments).code == 0)
                #expect(kills >= 3)
                #expect(try await live("t", phone) == 0)
                #expect(try await live("o", phone) == 500)
                for lookup in try await phone.allDocs(keys: (0..<500).map { DocumentID("o\($0)") }) {
                    guard case .found(let revision, _) = lookup else { continue }
                    #expect(revision.text.hasPrefix("1-"))
                }
                await phone.shutdown()
            }
        }
    }

    private func load(_ phone: Gateway) async throws {
        let tasks = (0..<Self.count).map { ("t\($0)", "l1") } + (0..<500).map { ("o\($0)", "l2") }
        for start in stride(from: 0, to: tasks.count, by: 1000) {
            let part = tasks[start..<min(start + 1000, tasks.count)]
            _ = try await phone.bulkDocs(
                part.map { id, list in
                    let body = #"{"_id":"\#(id)","type":"task","taskList":{"id":"\#(list)"}}"#
                    return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
                })
        }
        let list = try await phone.put("l1", body: Array(#"{"_id":"l1","type":"task-list"}"#.utf8))
        try await phone.put("l1", body: Array(#"{"_id":"l1","_rev":"\#(list)","_deleted":true}"#.utf8))
    }

    private func live(_ prefix: String, _ phone: Gateway) async throws -> Int {
        var count = 0
        for start in stride(from: 0, to: Self.count, by: 1000) {
            let ids = (start..<start + 1000).map { DocumentID("\(prefix)\($0)") }
            for lookup in try await phone.allDocs(keys: ids, includesBodies: false) {
                if case .found = lookup { count += 1 }
            }
        }
        return count
    }
}
