import DocumentFlow
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Random edits by phones, and the effects of the rules that must exist in the end.
///
/// The phone writes only `edit`, the rules write everything else. So the oracle needs no history: each effect must be
/// that of the last edit.
struct DeliveryModel: Sendable {
    static let phones = 2
    static let tasks = (0..<4).map { DocumentID("task\($0)") }
    /// Each list names the task with the same number.
    static let lists = (0..<2).map { DocumentID("list\($0)") }
    static let broken = (0..<2).map { DocumentID("broken\($0)") }

    /// - `stamp` writes another document, then its own.
    /// - `link` does not write its own document, but merges into one that `stamp` also writes.
    /// - `double` applies to what `stamp` puts.
    static let rules = """
        version: 1
        rules:
          - name: stamp
            when: { type: task }
            if: .stamped != .edit
            then:
              - put:
                  id: { jq: '"summary." + ._id' }
                  document: { type: summary, edit: { jq: .edit } }
                  if_exists: replace
              - merge: { stamped: { jq: .edit } }
          - name: link
            when: { type: list }
            then:
              - put: { id: { jq: .task }, document: { list: { jq: .edit } }, if_exists: merge }
          - name: double
            when: { type: summary }
            if: .double != .edit * 2
            then: [{ merge: { double: { jq: .edit * 2 } } }]
          - name: sweep
            when: { type: waste }
            then: [{ delete: true }]
          - name: broken
            when: { type: broken }
            then: [{ merge: { x: { jq: error } } }]
        """

    /// The content of a deleted document.
    private static let tombstone = try? JSONText("{}")

    private let phone: Gateway
    private let edits = Locked<[DocumentID: Int]>([:])
    private let wasteCount = Locked(0)

    init(_ phone: Gateway) { self.phone = phone }

    func create() async throws {
        for id in Self.tasks { try await write(id, Self.body(id, "task")) }
        for (id, task) in zip(Self.lists, Self.tasks) {
            try await write(id, Self.body(id, "list", #","task":"\#(task)""#))
        }
        for id in Self.broken { try await write(id, Self.body(id, "broken")) }
    }

    private static func body(_ id: DocumentID, _ type: String, _ rest: String = "") -> String {
        #"{"_id":"\#(id)","type":"\#(type)","big":12345678901234567890123,"price":1.10,"edit":0\#(rest)}"#
    }

    /// Changes one document once, and repeats the write until it is accepted.
    ///
    /// - Parameter phone: Each phone has its own documents, so that it knows the number of the next edit.
    func edit(_ random: inout SplitMix64, by phone: Int) async throws {
        func own(_ ids: [DocumentID]) -> [DocumentID] {
            ids.indices.filter { $0 % Self.phones == phone }.map { ids[$0] }
        }
        switch random.below(12) {
        case 0:
            let number = wasteCount.withLock { count in
                count += 1
                return count
            }
            try await write(DocumentID("waste\(number)"), Self.body(DocumentID("waste\(number)"), "waste"))
        case 1...3: try await edit(random.pick(own(Self.lists)), forgetting: [])
        // A careless app writes back only what it knows, and so drops the bot's stamp.
        case 4: try await edit(random.pick(own(Self.tasks)), forgetting: ["stamped"])
        default: try await edit(random.pick(own(Self.tasks)), forgetting: [])
        }
    }

    private func edit(_ id: DocumentID, forgetting names: Set<String>) async throws {
        let goal = count(id) + 1
        while true {
            guard let document = try await read(id) else { throw ModelError("\(id) is gone") }
            // The answer to the previous write may have been lost.
            if document.root["edit"]?.integer == goal { break }
            var writer = JSONWriter()
            writer.object { writer in
                for member in document.root.members {
                    let name = member.name.string ?? ""
                    if name == "edit" {
                        writer.member(name, integer: goal)
                    } else if !names.contains(name) {
                        writer.member(name, raw: member.value.bytes)
                    }
                }
            }
            if case .written? = try? await phone.bulkDocs([BulkDocument(id: id, segments: [writer.bytes])]).first {
                break
            }
        }
        edits.withLock { $0[id] = goal }
    }

    private func write(_ id: DocumentID, _ body: String) async throws {
        while try await read(id) == nil {
            _ = try? await phone.bulkDocs([BulkDocument(id: id, segments: [Array(body.utf8)])])
        }
    }

    /// A document; `{}` for a deleted one, nil for one that never existed. Repeats the request until the gateway
    /// answers.
    private func read(_ id: DocumentID) async throws -> JSONText? {
        while true {
            do throws(GatewayError) {
                switch try await phone.allDocs(keys: [id]).first {
                case .found(_, let document)?: return document
                case .deleted?: return Self.tombstone
                default: return nil
                }
            } catch {
                guard error.isRetryable else { throw error }
            }
            try Task.checkCancellation()
        }
    }

    private func count(_ id: DocumentID) -> Int { edits.withLock { $0[id] ?? 0 } }

    // MARK: - The oracle

    /// The documents that must have a dead letter; no others may.
    static let deadLettered = Set(broken)

    func check(_ comment: Comment) async throws {
        for (number, id) in Self.tasks.enumerated() {
            let edit = count(id)
            let task = try #require(try await read(id), comment)
            #expect(task.root["edit"]?.integer == edit, comment)
            // A document that was never edited has been stamped nevertheless.
            #expect(task.root["stamped"]?.integer == edit, "\(comment): \(id), edited \(edit) times")
            expectUntouched(task, comment)
            let summary = try #require(try await read(DocumentID("summary.\(id)")), comment)
            #expect(summary.root["edit"]?.integer == edit, "\(comment): the summary of \(id), edited \(edit) times")
            #expect(summary.root["double"]?.integer == 2 * edit, "\(comment): the summary of \(id)")
            let list = number < Self.lists.count ? Self.lists[number] : nil
            #expect(task.root["list"]?.integer == list.map(count), "\(comment): \(id) and its list")
            // Nothing is written twice: each edit is stamped at most once, and each edit of the list is recorded at
            // most once.
            let most = 1 + edit + (edit + 1) + (list.map { count($0) + 1 } ?? 0)
            #expect(generation(task) <= most, "\(comment): \(id), edited \(edit) times")
        }
        for id in Self.lists + Self.broken {
            let document = try #require(try await read(id), comment)
            #expect(generation(document) == 1 + count(id), comment)
            expectUntouched(document, comment)
        }
        for number in 1...max(1, wasteCount.withLock { $0 }) {
            #expect(try await read(DocumentID("waste\(number)"))?.root["type"] == nil, comment)
        }
    }

    private func generation(_ document: JSONText) -> Int {
        Int(document.root["_rev"]?.string?.prefix { $0 != "-" } ?? "") ?? 0
    }

    private func expectUntouched(_ document: JSONText, _ comment: Comment) {
        #expect(document.root["big"].map { Array($0.bytes) } == Array("12345678901234567890123".utf8), comment)
        #expect(document.root["price"].map { Array($0.bytes) } == Array("1.10".utf8), comment)
    }
}

struct ModelError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
