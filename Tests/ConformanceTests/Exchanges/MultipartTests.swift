import LosslessJSON
import TestKit
import Testing

/// Documents whose attachments follow in separate parts.
///
/// - Note: Source: RFC 2387.
@Suite(.limitedParallelism) struct MultipartTests {
    private static let digest = "sha1-jLIjfQZ5yojbZGTqxg2pY0VROWQ="

    /// The document and one part, `12345`.
    private static func body(_ attachments: String) -> String {
        [
            "--xyz", "Content-Type: application/json", "", "{\"n\":1,\"_attachments\":{\(attachments)}}", "--xyz",
            #"Content-Disposition: attachment; filename="f""#, "Content-Type: application/octet-stream", "", "12345",
            "--xyz--",
        ].joined(separator: "\r\n")
    }

    private static func entry(_ name: String, digest: String?) -> String {
        let digest = digest.map { #","digest":"\#($0)""# } ?? ""
        return #""\#(name)":{"follows":true,"length":5,"content_type":"application/octet-stream"\#(digest)}"#
    }

    private func put(_ workspace: Workspace, _ attachments: String) async throws -> Reply {
        try await workspace.send(
            "PUT", workspace.path(workspace.id("doc")), Self.body(attachments),
            headers: [("Content-Type", #"multipart/related; boundary="xyz""#)])
    }

    @Test func attachmentMayFollowItsDocument() async throws {
        try await Workspace.with { workspace in
            let digest = KnownDifferences.partsNeedDigest[workspace.kind] == nil ? nil : Self.digest
            let reply = try await put(workspace, Self.entry("f", digest: digest))
            #expect(reply.status == 201)
            let path = workspace.path(workspace.id("doc"))
            let entry = try await workspace.send("GET", path)["_attachments"]?["f"]
            #expect(entry?["length"]?.integer == 5)
            #expect(entry?["stub"]?.bool == true)
            #expect(try await workspace.send("GET", "\(path)/f").text == "12345")
        }
    }

    @Test(.servers("parts need no digest") { KnownDifferences.partsNeedDigest[$0.kind] != nil })
    func partIsFoundByItsDigest() async throws {
        try await Workspace.with { workspace in
            let expected = try #require(KnownDifferences.partsNeedDigest[workspace.kind])
            let reply = try await put(workspace, Self.entry("f", digest: nil))
            #expect(reply.outcome == expected)
        }
    }

    @Test(.servers("not recorded") { KnownDifferences.missingParts[$0.kind] != nil })
    func missingPartIsReported() async throws {
        try await Workspace.with { workspace in
            let expected = try #require(KnownDifferences.missingParts[workspace.kind])
            let entries = ["f", "g"].map { Self.entry($0, digest: Self.digest) }.joined(separator: ",")
            let reply = try await put(workspace, entries)
            #expect(reply.outcome == expected)
        }
    }

    @Test func documentIsMultipartOnRequest() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let reply = try await workspace.send(
                "GET", "\(workspace.path(id))?attachments=true", headers: [("Accept", "multipart/related")])
            #expect(reply.status == 200)
            #expect(reply.contentType.hasPrefix("multipart/related; boundary=\""))
        }
    }
}
