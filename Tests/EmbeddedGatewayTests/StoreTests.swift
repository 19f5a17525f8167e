import Foundation
import GRDB
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

@Suite struct StoreTests {
    private func edit(_ id: String, _ body: String, history: [String]? = nil) throws -> DocumentEdit {
        let document = try IncomingDocument(JSONText(body).root)
        guard let history else { return try DocumentEdit(id: id, document, isNew: true) }
        return DocumentEdit(id: id, document: document, kind: .replicated(history.compactMap { StoredRevisionID($0) }))
    }

    @Test func documentHasOnlyItsNewestSequence() async throws {
        let store = try Store(.memory)
        let first = try await store.write(edit("a", "{}"))
        _ = try await store.write(edit("b", "{}"))
        _ = try await store.write(edit("a", #"{"_rev":"\#(first.id)","n":2}"#))
        let page = try store.changes(
            since: .start, through: .max, limit: nil, ChangeSelection(), separator: ",", isFirst: true)
        let rows = String(decoding: page.text, as: UTF8.self).split(separator: "\n").map { $0.prefix(18) }
        #expect(rows == [#"{"seq":1,"id":"_us"#, #",{"seq":3,"id":"b""#, #",{"seq":4,"id":"a""#])
        #expect(page.last.sequence == 4)
        #expect(try store.lastSequence() == 4)
    }

    @Test func refusedDocumentUsesNoSequenceAndStopsNoOther() async throws {
        let store = try Store(.memory)
        let outcomes = try await store.write([
            edit("a", "{}"), edit("a", "{}"), edit("b", #"{"_rev":"1-x"}"#), edit("c", "{}"),
        ])
        #expect(outcomes.map { try? $0.get().id.generation } == [1, nil, nil, 1])
        #expect(throws: RequestError.documentExists) { try outcomes[1].get() }
        #expect(throws: RequestError.revisionConflict) { try outcomes[2].get() }
        #expect(try store.lastSequence() == 3)
    }

    @Test func historyIsKeptAndLimited() async throws {
        let store = try Store(.memory, rules: WritingRules(revisionsLimit: 50))
        var revision: StoredRevisionID?
        for _ in 0..<60 {
            let body = revision.map { #"{"_rev":"\#($0)"}"# } ?? "{}"
            revision = try await store.write(edit("a", body)).id
        }
        let history = try store.history(of: #require(revision).description, of: "a")
        #expect(history.map(\.generation) == Array((11...60).reversed()))
    }

    @Test func replicatedRevisionsKeepTheirIDs() async throws {
        let store = try Store(.memory)
        let history = ["3-ccc", "2-bbb", "1-aaa"]
        let first = try await store.write(edit("a", "{}", history: history))
        #expect(first.id.description == "3-ccc" && first.version != nil)
        let again = try await store.write(edit("a", "{}", history: history))
        #expect(again.id.description == "3-ccc" && again.version == nil)
        #expect(try store.lastSequence() == 2)
        let longer = ["5-eee", "4-ddd"] + history
        _ = try await store.write(edit("a", "{}", history: longer))
        #expect(try store.history(of: "5-eee", of: "a").map(\.description) == longer)
        await #expect(throws: RequestError.revisionConflict) {
            try await store.write(edit("a", "{}", history: ["4-xxx", "3-ccc"]))
        }
        #expect(try store.revision("2-bbb", of: "a") == nil)
    }

    @Test func attachmentsAreStoredOnceAndServedByDigest() async throws {
        let store = try Store(.memory)
        let body = #"{"_attachments":{"x":{"data":"SGVsbG8sIFdvcmxk"}}}"#
        _ = try await store.write([edit("a", body), edit("b", body)])
        let digest = "sha1-kH0U+zrysNTxjC1Gq+iu3OFzZ70="
        for id in ["a", "b"] {
            #expect(try store.attachmentContents([digest], of: id) == [digest: .loaded(Array("Hello, World".utf8))])
        }
        #expect(try await store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM attachments") } == 1)
        _ = try await store.write(edit("c", #"{"_attachments":{"x":{"stub":true,"digest":"\#(digest)"}}}"#))
        #expect(try store.attachmentContents([digest], of: "c").isEmpty)
    }

    @Test func fileKeepsDocumentsAfterReopening() async throws {
        try await withTemporaryFile { path in
            let store = try Store(.file(path))
            let written = try await store.write(edit("a", #"{"n":12345678901234567890123}"#))
            try store.close()
            let again = try Store(.file(path))
            let winner = try again.winner(of: "a")
            #expect(winner?.revision == written.id.description && winner?.version == written.version)
            #expect(try again.lastSequence() == 2)
            #expect(again.signal.lastSequence == 2)
            try again.close()
        }
    }

    /// As by a request that was under way when its database was deleted. It crashed.
    @Test func storeInMemoryIsReadAfterItIsClosed() throws {
        let store = try Store(.memory)
        let sequence = try store.lastSequence()
        try store.close()
        #expect(try store.lastSequence() == sequence)
    }

    @Test(.limitedParallelism) func pagesContainEveryDocumentOnce() async throws {
        let store = try Store(.memory)
        _ = try await store.write((0..<2_500).map { try edit("doc-\($0)", "{}") })
        var since = FeedPosition.start
        var pages = 0
        var count = 0
        var isLast = false
        while !isLast {
            let page = try store.changes(
                since: since, through: .max, limit: nil, ChangeSelection(), separator: ",", isFirst: pages == 0)
            (since, isLast) = (page.last, page.isLast)
            count += page.count
            pages += 1
        }
        #expect(count == 2_501)
        #expect(pages == 3)
        #expect(since == FeedPosition(2_501))
    }
}

/// A path in a temporary folder, which is removed afterwards.
func withTemporaryFile(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.appendingPathComponent("gateway.sqlite").path)
}
