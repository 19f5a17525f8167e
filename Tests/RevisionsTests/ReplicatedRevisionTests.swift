import GatewayClient
import LosslessJSON
import Testing

@testable import Revisions

/// The attachments that the target gets with a revision, and the revision's body there.
@Suite struct ReplicatedRevisionTests {
    private static func revision(_ body: String, known: [String]) throws -> ReplicatedRevision {
        ReplicatedRevision(
            text: try JSONText(body), key: BulkGetKey(id: DocumentID("a"), revision: RevisionID("4-d")),
            knownAncestors: known.map { RevisionID($0) })
    }

    private static let body =
        #"{"_cv":"1@x","_id":"a","_rev":"4-d","_revisions":{"start":4,"ids":["d","c","b","a"]},"n":1.10,"_attachments":{"old":{"revpos":1,"stub":true,"digest":"md5-x"},"mid":{"revpos":3,"stub":true},"new":{"revpos":4,"stub":true},"odd":{"stub":true}}}"#

    @Test(
        arguments: [
            ([], [], ["old", "mid", "new", "odd"]),
            (["3-c"], ["old", "mid"], ["new", "odd"]),
            (["1-a", "2-b"], ["old"], ["mid", "new", "odd"]),
            // A leaf of another branch.
            (["3-x"], [], ["old", "mid", "new", "odd"]),
        ] as [([String], [String], [String])])
    func attachmentsOlderThanKnownAncestorAreNotSentAgain(
        ancestors: [String], known: [String], needed: [String]
    ) throws {
        let attachments = try Self.revision(Self.body, known: ancestors).attachments
        #expect(attachments.known.map(\.name) == known)
        #expect(attachments.needed.map(\.name) == needed)
    }

    /// Sync Gateway accepts a stub for which it has no bytes.
    @Test func attachmentOfUnknownRevisionIsSent() throws {
        let body = Self.body.replacing(#""revpos":1"#, with: #""revpos":0"#)
        for ancestors in [[], ["3-c"]] {
            #expect(try Self.revision(body, known: ancestors).attachments.needed.contains { $0.name == "old" })
        }
    }

    @Test func bodyKeepsItsBytesExceptSourceOnlyMembers() throws {
        let plain = #"{"_id":"a", "n":1.10,"_rev":"1-a"}"#
        let same = ReplicatedBody.bytes(of: try JSONText(plain), attachments: [])
        #expect(String(decoding: same, as: UTF8.self) == plain)
        let revision = try Self.revision(Self.body, known: [])
        let stubs = AttachmentStub.all(of: revision.text.root)
        let body = ReplicatedBody.bytes(
            of: revision.text,
            attachments: [
                (stubs[0].name, ReplicatedBody.stub(stubs[0], of: revision.text)),
                (stubs[1].name, ReplicatedBody.inline(stubs[1], of: revision.text, base64: Array("eA==".utf8))),
            ])
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"_id":"a","_rev":"4-d","_revisions":{"start":4,"ids":["d","c","b","a"]},"n":1.10,"_attachments":{"old":{"revpos":1,"stub":true,"digest":"md5-x"},"mid":{"revpos":3,"data":"eA=="}}}"#
        )
    }

    @Test func revisionsWithheldBySyncGatewayAreRecognized() throws {
        #expect(try Self.revision(#"{"_id":"a","_removed":true}"#, known: []).isRemoved)
        #expect(try !Self.revision(Self.body, known: []).isRemoved)
    }
}
