import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// The members of a document that the rules of ``EdgeOracleTests`` read.
struct EdgeState: Hashable, Sendable {
    /// Whether it is a live document of the type that the rules are about.
    let isTask: Bool
    /// The JSON of its member `done`, `null` if it has none.
    let done: String
    /// The same of `echo`, which a rule writes.
    var echo = "null"

    var matches: Bool { isTask && done == "true" }

    init(isTask: Bool, done: String) { (self.isTask, self.done) = (isTask, done) }

    /// - Parameter document: Nil: it is deleted.
    init(_ document: JSONValue?) {
        func json(_ name: String) -> String {
            document?[name].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null"
        }
        self.init(isTask: document?["type"]?.string == "task", done: json("done"))
        echo = json("echo")
    }
}

/// Clients that edit, delete and create the same documents at random, and store branches.
final class EdgeWriters: Sendable {
    /// What the writers know of a document.
    private struct Known {
        var revisions: [RevisionID] = []
        var leaves: Set<String> = []
        /// The ancestors of a revision as far as they are known, newest first, with the revision itself.
        var histories: [String: [String]] = [:]
        var states: [String: EdgeState] = [:]

        mutating func add(_ revision: RevisionID, after parent: String?, _ state: EdgeState) {
            revisions.append(revision)
            if let parent { leaves.remove(parent) }
            leaves.insert(revision.text)
            histories[revision.text] = [revision.text] + (parent.map { histories[$0] ?? [$0] } ?? [])
            states[revision.text] = state
        }
    }

    /// How many documents one request writes.
    static let batch = 10

    let phone: Gateway
    let ids: [DocumentID]
    private let known = Locked<[DocumentID: Known]>([:])

    /// - Parameter prefix: All ids begin with it.
    init(_ phone: Gateway, prefix: String, count: Int) {
        self.phone = phone
        ids = (0..<count).map { DocumentID(prefix + "\($0)" + ["a", "b", "c"][$0 % 3]) }
    }

    /// The content of a revision. Nil: none of the writers wrote it.
    func state(_ id: DocumentID, _ revision: String) -> EdgeState? {
        known.withLock { $0[id]?.states[revision] }
    }

    /// The current states of all documents that exist or existed.
    func current() async throws -> [DocumentID: EdgeState] {
        var states: [DocumentID: EdgeState] = [:]
        for start in stride(from: 0, to: ids.count, by: 500) {
            let keys = Array(ids[start..<min(start + 500, ids.count)])
            for (id, lookup) in zip(keys, try await phone.allDocs(keys: keys)) {
                switch lookup {
                case .found(_, let document): states[id] = EdgeState(document.root)
                case .deleted, .missing:
                    let wasWritten = known.withLock { $0[id] != nil }
                    if wasWritten { states[id] = EdgeState(nil) }
                case .refused(let reason): Issue.record("\(reason)")
                }
            }
        }
        return states
    }

    /// Writes at random until this number of revisions was stored.
    func edit(_ count: Int, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var left = count
        while left > 0 {
            left -= random.chance(4) ? try await branch(&random) : try await update(&random)
            try await Task.sleep(for: .milliseconds(random.below(40)))
        }
    }

    private func randomIDs(_ random: inout SplitMix64) -> [DocumentID] {
        Array(Set((0..<Self.batch).map { _ in random.pick(ids) })).sorted { $0.text < $1.text }
    }

    /// A random content. Nil: the document is to be deleted.
    private static func content(_ random: inout SplitMix64, deletedOnceIn: Int) -> (body: String, state: EdgeState)? {
        if random.chance(deletedOnceIn) { return nil }
        let done = random.pick([nil, "false", "true", "true", #""later""#])
        let type = random.chance(10) ? "note" : "task"
        let body = (done.map { #""done":\#($0),"# } ?? "") + #""type":"\#(type)","n":\#(random.below(1 << 40))"#
        return (body, EdgeState(isTask: type == "task", done: done ?? "null"))
    }

    /// Edits the winning revisions of some documents.
    private func update(_ random: inout SplitMix64) async throws -> Int {
        let ids = randomIDs(&random)
        var documents: [BulkDocument] = []
        var written: [(parent: String?, state: EdgeState)] = []
        for (id, lookup) in zip(ids, try await phone.allDocs(keys: ids)) {
            var (parent, live): (String?, Bool) = (nil, false)
            switch lookup {
            case .found(let revision, _): (parent, live) = (revision.text, true)
            case .deleted(let revision): parent = revision.text
            case .missing, .refused: break
            }
            let content = Self.content(&random, deletedOnceIn: live ? 6 : .max)
            let rev = live ? parent.map { #""_rev":"\#($0)","# } ?? "" : ""
            let body = #"{"_id":"\#(id.text)",\#(rev)\#(content?.body ?? #""_deleted":true"#)}"#
            documents.append(BulkDocument(id: id, segments: [Array(body.utf8)]))
            written.append((parent, content?.state ?? EdgeState(nil)))
        }
        return note(try await phone.bulkDocs(documents), documents, written)
    }

    /// Adds revisions after any known ones: new branches, longer ones, and ends of branches.
    private func branch(_ random: inout SplitMix64) async throws -> Int {
        var revisions: [RevisionToStore] = []
        var written: [(parent: String?, state: EdgeState)] = []
        for id in randomIDs(&random) {
            let known = known.withLock { $0[id] } ?? Known()
            let leaves = known.leaves.sorted()
            guard let parent = random.chance(3) ? known.revisions.last?.text : leaves.randomElement(using: &random)
            else { continue }
            let history = known.histories[parent] ?? [parent]
            let generation = (Int(parent.prefix { $0 != "-" }) ?? 0) + 1
            let digest = String(format: "%016lx%016lx", random.next(), random.next())
            let digests = [digest] + history.map { $0.drop { $0 != "-" }.dropFirst() }
            let list = digests.map { #""\#($0)""# }.joined(separator: ",")
            let content = Self.content(&random, deletedOnceIn: 3)
            let body =
                #"{"_id":"\#(id.text)","_rev":"\#(generation)-\#(digest)","#
                + #""_revisions":{"start":\#(generation),"ids":[\#(list)]},"#
                + (content?.body ?? #""_deleted":true"#) + "}"
            revisions.append(
                RevisionToStore(
                    BulkDocument(id: id, segments: [Array(body.utf8)]), revision: RevisionID("\(generation)-\(digest)"))
            )
            written.append((parent, content?.state ?? EdgeState(nil)))
        }
        guard !revisions.isEmpty else { return 0 }
        return note(try await phone.storeRevisions(revisions), revisions.map(\.document), written)
    }

    /// Remembers what was stored. Returns how many revisions were.
    private func note(
        _ outcomes: [BulkOutcome], _ documents: [BulkDocument], _ written: [(parent: String?, state: EdgeState)]
    ) -> Int {
        known.withLock { known in
            var count = 0
            for ((outcome, document), (parent, state)) in zip(zip(outcomes, documents), written) {
                guard case .written(let revision) = outcome else { continue }
                known[document.id, default: Known()].add(revision, after: parent, state)
                count += 1
            }
            return count
        }
    }
}
