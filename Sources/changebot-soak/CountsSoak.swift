internal import Foundation
internal import GatewayClient
internal import LosslessJSON
internal import TestKit

/// Tasks in lists; the bot keeps the counts of each list in a document. Writers create, complete, move and delete tasks
/// at random and concurrently. At the end, the documents must match a full count.
struct CountsSoak: Sendable {
    static let rules = """
        version: 1
        rules:
          - name: soak-counts
            when: { type: soak-task }
            then:
              - aggregate:
                  into: { jq: '"soak-counts-" + .list' }
                  document: { type: soak-counts, list: { jq: .list } }
                  count: { open: { $not: { complete: true } }, done: { complete: true } }
                  sum: { hours: { jq: .hours } }
          - name: soak-inbox
            when: { type: soak-task, list: inbox }
            then: [{ merge: { list: list-0 } }]
        """

    /// Changes per request.
    private static let batch = 40

    let url: GatewayURL
    let tasks: Int
    let lists: Int

    private func id(_ task: Int) -> DocumentID { DocumentID("soak-task-\(task)") }

    private func counts(_ list: Int) -> DocumentID { DocumentID("soak-counts-list-\(list)") }

    /// Makes changes until the writers' total of accepted changes is reached.
    func change(_ total: Int, counting edits: EditCount, seed: UInt64) async throws {
        let phone = SoakWriter(url, seed: seed)
        var random = SplitMix64(seed: seed)
        while edits.total < total {
            let chosen = Set((0..<Self.batch).map { _ in random.below(tasks) }).sorted()
            let found = try await phone.lookUp(chosen.map(id))
            let writes = zip(chosen, found).compactMap { task, lookup in write(task, lookup, &random) }
            for outcome in (try? await phone.write(writes)) ?? [] {
                if case .written = outcome { edits.note(0) }
            }
        }
    }

    private func write(_ task: Int, _ lookup: DocumentLookup, _ random: inout SplitMix64) -> BulkDocument? {
        var revision = ""
        if case .found(let found, _) = lookup { revision = #","_rev":"\#(found)""# }
        let list = random.chance(10) ? "inbox" : "list-\(random.below(lists))"
        var members = #","type":"soak-task","list":"\#(list)","complete":\#(random.chance(2))"#
        members += #","hours":\#(random.below(100)).\#(random.below(100))"#
        if random.chance(8) {
            if revision.isEmpty { return nil }
            members = #","_deleted":true"#
        } else if random.chance(12) {
            members = #","type":"soak-note""#
        }
        return BulkDocument(id: id(task), segments: [Array(#"{"_id":"\#(id(task))"\#(revision)\#(members)}"#.utf8)])
    }

    /// The lists whose documents do not match a full count.
    func check() async throws -> [String] {
        let phone = SoakWriter(url, seed: 0)
        var expected = [[Int]](repeating: [0, 0, 0], count: lists)
        for start in stride(from: 0, to: tasks, by: 500) {
            for lookup in try await phone.lookUp((start..<min(start + 500, tasks)).map(id)) {
                guard case .found(_, let document) = lookup, document.root["type"]?.string == "soak-task",
                    let list = document.root["list"]?.string.flatMap({ Int($0.dropFirst("list-".count)) })
                else { continue }
                expected[list][document.root["complete"]?.bool == true ? 1 : 0] += 1
                expected[list][2] += Self.hundredths(document.root["hours"])
            }
        }
        var wrong: [String] = []
        for (list, lookup) in zip(0..<lists, try await phone.lookUp((0..<lists).map(counts))) {
            var shown = [0, 0, 0]
            if case .found(_, let document) = lookup {
                let root = document.root
                shown = [root["open"]?.integer ?? -1, root["done"]?.integer ?? -1, Self.hundredths(root["hours"])]
            }
            if shown != expected[list] { wrong.append("\(counts(list)): \(shown), and not \(expected[list])") }
        }
        return wrong
    }

    private static func hundredths(_ value: JSONValue?) -> Int {
        let number = value.flatMap { Double(String(decoding: $0.bytes, as: UTF8.self)) }
        return number.map { Int(($0 * 100).rounded()) } ?? -1
    }
}
