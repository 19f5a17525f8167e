import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Attachments, as the client writes and reads them.
@Suite(.limitedParallelism) struct ClientAttachmentTests {
    @Test func attachmentIsReadAndChecked() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let digest = AttachmentDigest(KnownDifferences.digest[workspace.kind])
            var answer = try #require(
                try await workspace.gateway.openAttachment("picture", of: DocumentID(id), digest: digest))
            #expect(answer.contentType == "image/png")
            #expect(answer.byteCount == 70)
            #expect(answer.digest == digest)
            var bytes: [UInt8] = []
            while let part = try await answer.next() { bytes += part }
            #expect(bytes == Picture.bytes)
        }
    }

    @Test func responseNamesTheDigest() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let answer = try await workspace.gateway.openAttachment("picture", of: DocumentID(id))
            #expect(answer?.digest == AttachmentDigest(KnownDifferences.digest[workspace.kind]))
        }
    }

    @Test func unexpectedBytesAreAnError() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let wrong = AttachmentDigest(KnownDifferences.digest[workspace.kind].replacing("P", with: "Q"))
            var answer = try #require(
                try await workspace.gateway.openAttachment("picture", of: DocumentID(id), digest: wrong))
            var failure: GatewayError?
            do throws(GatewayError) { while try await answer.next() != nil {} } catch { failure = error }
            #expect(failure?.code == .digestMismatch)
        }
    }

    @Test func missingAttachmentIsNil() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let none = DocumentID(workspace.id("none"))
            #expect(try await workspace.gateway.attachment("nope", of: DocumentID(id)) == nil)
            #expect(try await workspace.gateway.attachment("nope", of: none) == nil)
            #expect(try await workspace.gateway.openAttachment("nope", of: DocumentID(id)) == nil)
        }
    }

    @Test func attachmentOfOneMebibyteIsWrittenAndRead() async throws {
        try await Workspace.with { workspace in
            let id = DocumentID(workspace.id("doc"))
            let first = try await workspace.gateway.put(id, body: #"{"n":1}"#.bytes)
            let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            let segments = [Array(bytes[..<1000]), Array(bytes[1000...])]
            let second = try await workspace.gateway.putAttachment(
                "data", of: id, revision: first, contentType: "application/octet-stream", segments: segments)
            #expect(second.generation == 2)
            #expect(try await workspace.gateway.attachment("data", of: id) == bytes)
            #expect(try await workspace.gateway.document(id)?.root["n"]?.integer == 1)
        }
    }

    @Test func attachingToAnotherRevisionIsAConflict() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            for revision in [nil, RevisionID(revisions[0])] {
                let error = await #expect(throws: GatewayError.self) {
                    try await workspace.gateway.putAttachment(
                        "data", of: DocumentID(id), revision: revision, contentType: "text/plain", segments: [[1]])
                }
                #expect(error?.code == .conflict)
            }
        }
    }

    @Test func attachmentsAreInlineOnRequest() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let document = try await workspace.gateway.document(DocumentID(id), with: .attachments)
            #expect(document?.root["_attachments"]?["picture"]?["data"]?.string == Picture.base64)
        }
    }

    @Test func revisionsHaveTheirAttachments() async throws {
        try await Workspace.with { workspace in
            let (id, revision) = try await workspace.attachPicture()
            _ = try await workspace.gateway.findDialect()
            var answer = try await workspace.gateway.bulkGet(
                [BulkGetKey(id: DocumentID(id))], includesAttachments: true)
            guard case .revision(let document)? = try await answer.next() else {
                Issue.record("no revision came")
                return
            }
            #expect(document.root["_rev"]?.string == revision)
            let entry = document.root["_attachments"]?["picture"]
            if entry?["follows"]?.bool == true {
                guard case .attachment(let attachment)? = try await answer.next() else {
                    Issue.record("nothing follows")
                    return
                }
                #expect(attachment.bytes == Picture.bytes)
            } else {
                #expect(entry?["data"]?.string == Picture.base64)
            }
            let rest = try await answer.next()
            #expect(rest == nil, "nothing else was asked for")
        }
    }
}
