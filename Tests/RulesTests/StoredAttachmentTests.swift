import Encodings
import Foundation
import Locking
import LosslessJSON
import Testing

@testable import Rules

/// Attachments that CouchDB compressed according to its own settings.
@Suite struct StoredAttachmentTests {
    /// Attaches `hello\n`.
    private func set(_ action: String) throws -> RuleSet {
        let file = FileManager.default.temporaryDirectory.appending(path: "note-\(UUID().uuidString).png")
        try Data("hello\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ruleSet(lines: "name: a, when: {}, then: [{attach: \(action.replacing("FILE", with: file.path))}]")
    }

    private static let plain = "{name: x, file: FILE, content_type: TYPE}"
    private static let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="

    private static func document(
        _ id: String, digest: String = "md5-AAAAAAAAAAAAAAAAAAAAAA==", type: String = "image/png", length: Int = 6,
        name: String = "x", members: String = ""
    ) -> String {
        let stub = #"{"content_type":"\#(type)","digest":"\#(digest)","length":\#(length),"stub":true}"#
        return #"{"_id":"\#(id)","_rev":"1-a","# + members + #""_attachments":{"\#(name)":\#(stub)}}"#
    }

    /// - Parameter stored: The gateway's bytes of each attachment. Nil if they can't be read.
    private func decide(
        _ rules: RuleSet, _ documents: [String], stored text: String?
    ) async throws -> (decisions: [Decision], read: [StoredAttachment]) {
        let read = Locked<[StoredAttachment]>([])
        let reader = StoredAttachmentReader { attachment in
            read.withLock { $0.append(attachment) }
            return text.map { .sha256(Digest.sha256.hex(Array($0.utf8))) } ?? .unreadable
        }
        let decisions = await rules.makeDecider().decide(
            on: try documents.map { DecisionInput(try JSONText($0)) }, now: 0, stored: reader)
        return (decisions, read.withLock { $0 })
    }

    @Test(arguments: ["image/png", "text/plain", "application/x-thing"])
    func attachmentWithTheSameBytesIsNotSentAgain(type: String) async throws {
        let rules = try set(Self.plain.replacing("TYPE", with: type))
        let (decisions, read) = try await decide(rules, [Self.document("d", type: type)], stored: "hello\n")
        #expect(decisions.map(\.isChanged) == [false])
        #expect(decisions.map(\.fired) == [[0]])
        #expect(read.map(\.id) == ["d"])
        #expect(read.map(\.revision) == ["1-a"])
        #expect(read.map(\.name) == ["x"])
        #expect(read.map(\.length) == [6])
    }

    @Test(arguments: ["hellu\n", nil])
    func attachmentWithDifferentOrUnreadableBytesIsSent(stored: String?) async throws {
        let rules = try set(Self.plain.replacing("TYPE", with: "image/png"))
        let (decisions, read) = try await decide(rules, [Self.document("d")], stored: stored)
        #expect(decisions.map(\.isChanged) == [true])
        #expect(decisions[0].attachments.count == 1)
        #expect(read.count == 1)
    }

    /// Regression: a run that ended during an outage sent attachments of `related` actions again that the gateway
    /// already had.
    @Test func runEndingBeforeTheReadLeavesTheDocumentUndecided() async throws {
        let rules = try set(Self.plain.replacing("TYPE", with: "image/png"))
        let documents = [Self.document("d"), Self.document("e", length: 7)]
        let decisions = await rules.makeDecider().decide(
            on: try documents.map { DecisionInput(try JSONText($0)) }, now: 0,
            stored: StoredAttachmentReader { _ in .unknown })
        #expect(decisions.map { $0.error?.isTemporary } == [true, nil])
        #expect(decisions.map(\.isChanged) == [false, true] && decisions[0].attachments.isEmpty)
    }

    @Test(arguments: [
        document("d", digest: sha1), document("d", digest: "md5-sZRqySSS0jR8YjW00mERhA=="), document("d", length: 7),
        document("d", type: "image/gif"), document("d", name: "y"), document("d", digest: "sha1-AAAA"),
    ])
    func conclusiveStubIsNotRead(document: String) async throws {
        let rules = try set(Self.plain.replacing("TYPE", with: "image/png"))
        #expect(try await decide(rules, [document], stored: "hello\n").read.isEmpty)
    }

    @Test func manyDocumentsWithTheSameAttachmentNeedOneRequest() async throws {
        let rules = try set(Self.plain.replacing("TYPE", with: "image/png"))
        let documents = (0..<50).map { Self.document("d\($0)") }
        let (decisions, read) = try await decide(rules, documents, stored: "hello\n")
        #expect(decisions.allSatisfy { !$0.isChanged })
        #expect(read.count == 1)
        // Later batches need no request either.
        #expect(try await decide(rules, documents, stored: "hello\n").read.isEmpty)
        // Another level has another digest.
        let other = Self.document("e", digest: "md5-BBBBBBBBBBBBBBBBBBBBBB==")
        let (later, readLater) = try await decide(rules, [other], stored: "hellu\n")
        #expect(later.map(\.isChanged) == [true])
        #expect(readLater.count == 1)
    }

    @Test(arguments: [
        (sha1, "hello\n", false), (sha1, "hellu\n", true), ("sha1-AAAA", "hello\n", true),
    ])
    func blobWithTheRightMemberAndBytesIsUnchanged(digest: String, stored: String, isChanged: Bool) async throws {
        let member = #""image":{"@type":"blob","content_type":"text/plain","digest":"\#(digest)","length":6},"#
        let document = Self.document("d", type: "text/plain", name: "blob_/image", members: member)
        let rules = try set("{blob: image, file: FILE, content_type: text/plain}")
        let (decisions, read) = try await decide(rules, [document], stored: stored)
        #expect(decisions.map(\.isChanged) == [isChanged])
        #expect(decisions[0].attachments.isEmpty == (stored == "hello\n"))
        #expect(read.count == 1)
    }

    @Test func downloadIsComparedToo() async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [attach: {name: x, url: 'https://h/x.png'}]")
        let asked = Locked(0)
        let downloader = Downloader(answer: { _, _, _ in
            asked.withLock { $0 += 1 }
            return .content(AttachmentContent(Array("hello\n".utf8)), contentType: "image/png")
        })
        let reader = StoredAttachmentReader { _ in .sha256(Digest.sha256.hex(Array("hello\n".utf8))) }
        let decisions = await rules.makeDecider().decide(
            on: [DecisionInput(try JSONText(Self.document("d")))], now: 0, downloader: downloader, stored: reader)
        #expect(decisions.map(\.isChanged) == [false])
        #expect(asked.withLock { $0 } == 1)
    }
}
