import DocumentFlow
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// Random changes of tasks, and a full count to compare the totals with.
struct CountsModel: Sendable {
    static let lists = ["a", "b", "c", "d"]

    /// The rules `settle` and `tag` change tasks; the totals count the result.
    static let rules = """
        version: 1
        rules:
          - name: settle
            when: { type: task, list: inbox }
            then: [{ merge: { list: a } }]
          - name: counts
            when: { type: task }
            unless: { hidden: true }
            then:
              - aggregate:
                  into: { jq: '"counts:" + .list' }
                  document: { type: counts, list: { jq: .list } }
                  count: { open: { $not: { complete: true } }, done: { complete: true } }
                  sum: { hours: { jq: .hours } }
          - name: tag
            when: { type: task, tag: { $exists: false } }
            then: [{ merge: { tag: true } }]
        """

    let phone: Gateway
    let tasks: Int

    private func id(_ number: Int) -> DocumentID { DocumentID("task\(number)") }

    /// One change, accepted or not: another phone or the bot may have been faster.
    func edit(_ random: inout SplitMix64) async throws {
        // A user edits a document that holds totals.
        if random.chance(40) { return try await tamper(&random) }
        let id = id(random.below(tasks))
        let members =
            #""type":"\#(random.chance(15) ? "note" : "task")","complete":\#(random.chance(2)),"#
            + #""list":"\#(random.chance(8) ? "inbox" : random.pick(Self.lists))","hours":\#(random.below(40)).\#(random.below(10))"#
            + (random.chance(10) ? #","hidden":true"# : "") + (random.chance(2) ? #","tag":true"# : "")
        try await write(id, members, isDeleted: random.chance(6))
    }

    private func tamper(_ random: inout SplitMix64) async throws {
        let id = DocumentID("counts:" + random.pick(Self.lists))
        try await write(id, #""type":"counts","open":1000,"mine":true"#, isDeleted: random.chance(2))
    }

    private func write(_ id: DocumentID, _ members: String, isDeleted: Bool) async throws {
        var body = #"{"_id":"\#(id)",\#(members)"#
        if case .found(let revision, _)? = try? await phone.allDocs(keys: [id]).first {
            body += #","_rev":"\#(revision)""#
            if isDeleted { body = #"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true"# }
        } else if isDeleted {
            return
        }
        _ = try? await phone.bulkDocs([BulkDocument(id: id, segments: [Array((body + "}").utf8)])])
    }

    /// Compares the documents with totals with a full count.
    func check(_ comment: Comment) async throws {
        let faults = try await faults()
        #expect(faults.isEmpty, comment)
    }

    /// Where the documents with totals differ from a full count.
    func faults() async throws -> [String] {
        var expected: [String: [Int]] = [:]
        for lookup in try await phone.allDocs(keys: (0..<tasks).map(id)) {
            guard case .found(_, let document) = lookup, document.root["type"]?.string == "task",
                document.root["hidden"] == nil, let list = document.root["list"]?.string
            else { continue }
            var total = expected[list] ?? [0, 0, 0]
            total[document.root["complete"]?.bool == true ? 1 : 0] += 1
            total[2] += Self.tenths(document.root["hours"])
            expected[list] = total
        }
        var faults: [String] = []
        if let inbox = expected["inbox"] { faults.append("the inbox has \(inbox)") }
        for (list, lookup) in zip(
            Self.lists, try await phone.allDocs(keys: Self.lists.map { DocumentID("counts:" + $0) }))
        {
            guard case .found(_, let document) = lookup else {
                if let total = expected[list] { faults.append("\(list): nothing, and not \(total)") }
                continue
            }
            let total = [
                document.root["open"]?.integer ?? -1, document.root["done"]?.integer ?? -1,
                Self.tenths(document.root["hours"]),
            ]
            if total != expected[list] ?? [0, 0, 0] {
                faults.append("\(list): \(total), and not \(expected[list] ?? [0, 0, 0])")
            }
        }
        return faults
    }

    private static func tenths(_ value: JSONValue?) -> Int {
        Int(((value.flatMap { Double(String(decoding: $0.bytes, as: UTF8.self)) } ?? -1) * 10).rounded())
    }
}
