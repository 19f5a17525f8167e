import GatewayClient
import LosslessJSON
import Rules
import Testing

@testable import Revisions

/// The ids of revisions that resolve a conflict. Different program versions create them from the same leaves at the
/// same time, so the ids must not change.
@Suite struct NewRevisionTests {
    private static func leaf(_ revision: String, _ before: String..., attachments: String = "{}") throws -> ConflictLeaf
    {
        let generation = try #require(RevisionID(revision).generation)
        let digests = [String(revision.drop { $0 != "-" }.dropFirst())] + before
        let ids = digests.map { "\"\($0)\"" }.joined(separator: ",")
        return try #require(
            ConflictLeaf(
                try JSONText(
                    #"{"_id":"d","_rev":"\#(revision)","_revisions":{"start":\#(generation),"ids":[\#(ids)]},"_attachments":\#(attachments)}"#
                )))
    }

    /// `3-w` wins over `3-l`.
    private static func conflict() throws -> Conflict {
        let stub = #"{"p":{"content_type":"image/png","digest":"md5-x","length":9,"revpos":2,"stub":true}}"#
        return Conflict([try leaf("3-l", "b", "a", attachments: stub), try leaf("3-w", "b", "a")])
    }

    @Test func mergedRevisionsHaveStableIDs() throws {
        let (conflict, members) = (try Self.conflict(), try JSONText(#"{"n":1}"#))
        let plain = try #require(
            NewRevision.resolved(ResolvedDocument(members: members, attachments: []), of: conflict, "d"))
        #expect(plain.revision.key.revision?.text == "4-8806edea187ce64ef70d039398bb3a95")
        let withPicture = try #require(
            NewRevision.resolved(ResolvedDocument(members: members, attachments: [("p", 1)]), of: conflict, "d"))
        #expect(
            String(decoding: withPicture.revision.text.bytes, as: UTF8.self)
                == #"{"_id":"d","_rev":"4-ac9e2e042bf30b78412b00813ee3dcc2","_revisions":{"start":4,"ids":["ac9e2e042bf30b78412b00813ee3dcc2","w","b","a"]},"n":1,"_attachments":{"p":{"content_type":"image/png","digest":"md5-x","length":9,"stub":true,"revpos":4}}}"#
        )
        #expect(withPicture.needed.map(\.origin?.text) == ["3-l"] && withPicture.kept.isEmpty)
    }

    @Test(arguments: [
        ("deleted", "6f800810bef1358df97e77307e63e1ac"), ("settled", "c496b2c85e1ed785119be4ea625bd824"),
    ])
    func deletionsHaveStableIDs(reason: String, digest: String) throws {
        let tombstone = try #require(
            NewRevision.tombstone(of: try Self.leaf("3-l", "b", "a"), "d", because: reason))
        #expect(
            String(decoding: tombstone.body, as: UTF8.self)
                == #"{"_id":"d","_rev":"4-\#(digest)","_revisions":{"start":4,"ids":["\#(digest)","l","b","a"]},"_deleted":true}"#
        )
    }

    /// The target's leaf is two generations older, so the history contains a placeholder.
    @Test func settlingRevisionsHaveStableIDs() throws {
        let (ours, theirs) = (try Self.leaf("3-w", "b", "a"), try Self.leaf("2-t", "a"))
        let pair = LeafPair(ours: ours, theirs: theirs)
        let revision = SettlingRevision.of(pair, content: Array(#"{"n":1}"#.utf8))
        #expect(revision.id.text == "4-8790237f1e5a3a5e082c26c8a6bc7522")
        let tombstone = try #require(revision.tombstone(of: "d"))
        #expect(
            tombstone.text.root["_revisions"].map { String(decoding: $0.bytes, as: UTF8.self) }
                == #"{"start":4,"ids":["8790237f1e5a3a5e082c26c8a6bc7522","aef3cf262ab3a7267670fcd9e6ffd90d","t","a"]}"#
        )
        let settled = try #require(ConflictLeaf(tombstone.text))
        #expect(SettlingRevision.hasSettled("3-w", in: settled) && !SettlingRevision.hasSettled("3-x", in: settled))
        #expect(SettlingRevision.placeholders(in: settled.history) == ["3-aef3cf262ab3a7267670fcd9e6ffd90d"])
    }
}
