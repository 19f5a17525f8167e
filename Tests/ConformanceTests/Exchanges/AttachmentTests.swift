import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// Attachments: inline, as stubs, alone, and in multipart bodies.
@Suite(.limitedParallelism) struct AttachmentTests {
    @Test func inlineAttachmentBecomesAStub() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let stub = try await workspace.attachments(of: id)?["picture"]
            #expect(stub?["content_type"]?.string == "image/png")
            #expect(stub?["digest"]?.string == KnownDifferences.digest[workspace.kind])
            #expect(stub?["length"]?.integer == 70)
            #expect(stub?["revpos"]?.integer == 1)
            #expect(stub?["stub"]?.bool == true)
            #expect(stub?["data"] == nil)
        }
    }

    @Test func attachmentIsReadAsWritten() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let reply = try await workspace.send("GET", "\(workspace.path(id))/picture", headers: [("Accept", "*/*")])
            #expect(reply.status == 200)
            #expect(reply.bytes == Picture.bytes)
            #expect(reply.contentType == "image/png")
            #expect(reply.headers["ETag"] == KnownDifferences.entityTagOfAttachment[workspace.kind])
            #expect(reply.headers["Content-Length"] == "70")
            #expect(reply.headers["Accept-Ranges"] == "bytes")
        }
    }

    @Test func namesThatOnlyLookEqualAreTwoAttachments() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("accents")
            let names = ["\u{E9}", "e\u{301}"]
            let members = names.map { "\"\($0)\":{\"content_type\":\"image/png\",\"data\":\"QUJD\"}" }
            try await workspace.put(id, "{\"_attachments\":{\(members.joined(separator: ","))}}")
            let stored = try await workspace.attachments(of: id)?.members.map { Array($0.name.string?.utf8 ?? "".utf8) }
            #expect(Set(stored ?? []) == Set(names.map { Array($0.utf8) }))
        }
    }

    @Test func rangeOfAnAttachmentCanBeRead() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let reply = try await workspace.send(
                "GET", "\(workspace.path(id))/picture", headers: [("Accept", "*/*"), ("Range", "bytes=60-")])
            #expect(reply.status == 206)
            #expect(reply.bytes == Array(Picture.bytes.dropFirst(60)))
            #expect(reply.headers["Content-Range"] == "bytes 60-69/70")
        }
    }

    @Test func attachmentsAreInlineOnRequest() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let reply = try await workspace.send("GET", "\(workspace.path(id))?attachments=true")
            let entry = reply["_attachments"]?["picture"]
            #expect(entry?["data"]?.string == Picture.base64)
            #expect(entry?["stub"] == nil)
            #expect(entry?["digest"]?.string == KnownDifferences.digest[workspace.kind])
        }
    }

    @Test func unknownAttachmentIsMissing() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let reply = try await workspace.send("GET", "\(workspace.path(id))/nope")
            let expected = KnownDifferences.missingAttachment[workspace.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }

    @Test(arguments: [
        #"{"stub":true}"#, #"{"stub":true,"revpos":1}"#,
        #"{"stub":true,"revpos":1,"content_type":"image/png","length":70,"digest":"{digest}"}"#,
    ]) func stubKeepsTheAttachment(_ stub: String) async throws {
        try await Workspace.with { workspace in
            let (id, revision) = try await workspace.attachPicture()
            let stub = stub.replacing("{digest}", with: KnownDifferences.digest[workspace.kind])
            let body = #"{"_rev":"\#(revision)","n":2,"_attachments":{"picture":\#(stub)}}"#
            #expect(try await workspace.send("PUT", workspace.path(id), body).status == 201)
            let kept = try await workspace.attachments(of: id)?["picture"]
            #expect(kept?["digest"]?.string == KnownDifferences.digest[workspace.kind])
            #expect(kept?["length"]?.integer == 70)
            #expect(kept?["revpos"]?.integer == 1)
            let bytes = try await workspace.send("GET", "\(workspace.path(id))/picture").bytes
            #expect(bytes == Picture.bytes)
        }
    }

    @Test func unmentionedAttachmentIsDropped() async throws {
        try await Workspace.with { workspace in
            let (id, revision) = try await workspace.attachPicture()
            try await workspace.put(id, #"{"_rev":"\#(revision)","n":2}"#)
            #expect(try await workspace.attachments(of: id) == nil)
            #expect(try await workspace.send("GET", "\(workspace.path(id))/picture").status == 404)
        }
    }

    @Test func stubOfAnotherNameIsRefusedOrDangles() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id)
            let digest = KnownDifferences.digest[workspace.kind].replacing("Sl63", with: "AAAA")
            let stub = #"{"stub":true,"revpos":1,"digest":"\#(digest)"}"#
            let reply = try await workspace.send(
                "PUT", workspace.path(id), #"{"_rev":"\#(revision)","_attachments":{"x":\#(stub)}}"#)
            let expected = KnownDifferences.danglingStub[workspace.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
            #expect(try await workspace.send("GET", "\(workspace.path(id))/x").status == 404)
        }
    }

    @Test func stubWithoutAnAttachmentIsRefused() async throws {
        try await Workspace.with { workspace in
            let body = #"{"_attachments":{"x":{"stub":true}}}"#
            let reply = try await workspace.send("PUT", workspace.path(workspace.id("doc")), body)
            let expected = KnownDifferences.stubWithoutAttachment[workspace.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }

    @Test func attachmentCanBeWrittenAlone() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let first = try await workspace.put(id, #"{"n":1}"#)
            let path = "\(workspace.path(id))/picture"
            let refused = try await workspace.send(
                "PUT", path, bytes: Picture.bytes, headers: [("Content-Type", "image/png")])
            let expected = KnownDifferences.attachingWithoutRevision[workspace.kind]
            #expect(refused.outcome.fits(expected), "\(refused.outcome) instead of \(expected)")
            let written = try await workspace.send(
                "PUT", "\(path)?rev=\(first)", bytes: Picture.bytes, headers: [("Content-Type", "image/png")])
            #expect(written.status == 201)
            #expect(written["rev"]?.string?.hasPrefix("2-") == true)
            let document = try await workspace.send("GET", workspace.path(id))
            #expect(document["n"]?.integer == 1)
            #expect(document["_attachments"]?["picture"]?["revpos"]?.integer == 2)
            #expect(document["_attachments"]?["picture"]?["digest"]?.string == KnownDifferences.digest[workspace.kind])
        }
    }

    /// - Note: Source: `handlePutAttachment` of Sync Gateway 4.1.1 and 3.3.7; `db_attachment_req` of CouchDB 3.5.
    @Test func attachmentCreatesItsDocument() async throws {
        try await Workspace.with { workspace in
            let path = workspace.path(workspace.id("new"))
            let written = try await workspace.send(
                "PUT", "\(path)/picture", bytes: Picture.bytes, headers: [("Content-Type", "image/png")])
            #expect(written.status == 201)
            #expect(written["rev"]?.string?.hasPrefix("1-") == true)
            let document = try await workspace.send("GET", path)
            #expect(document["_attachments"]?["picture"]?["length"]?.integer == 70)
        }
    }

    /// - Note: Source: `handleDeleteAttachment` of Sync Gateway 4.1.1 and 3.3.7; `db_attachment_req` of CouchDB 3.5.
    @Test func attachmentCanBeDeletedAlone() async throws {
        try await Workspace.with { workspace in
            let (id, revision) = try await workspace.attachPicture()
            let path = "\(workspace.path(id))/picture"
            let reply = try await workspace.send("DELETE", "\(path)?rev=\(revision)")
            #expect(reply.status == 200)
            #expect(reply["rev"]?.string?.hasPrefix("2-") == true)
            #expect(try await workspace.send("GET", path).status == 404)
            let document = try await workspace.send("GET", workspace.path(id))
            #expect(document.status == 200)
            #expect(document["_attachments"]?["picture"] == nil)
        }
    }

    @Test func severalAttachmentsCoexist() async throws {
        try await Workspace.with { workspace in
            let (id, first) = try await workspace.attachPicture()
            let note = #"{"content_type":"application/octet-stream","data":"aGVsbG8="}"#
            try await workspace.put(
                id, #"{"_rev":"\#(first)","_attachments":{"picture":{"stub":true},"a note":\#(note)}}"#)
            let entries = try await workspace.attachments(of: id)
            #expect(entries?["picture"]?["revpos"]?.integer == 1)
            #expect(entries?["a note"]?["revpos"]?.integer == 2)
            #expect(try await workspace.send("GET", "\(workspace.path(id))/a%20note").text == "hello")
        }
    }

    @Test func feedHasStubs() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let entry = try await workspace.changes("include_docs=true", until: [id])
                .row(id)?.document?["_attachments"]?["picture"]
            #expect(entry?["stub"]?.bool == true)
            #expect(entry?["digest"]?.string == KnownDifferences.digest[workspace.kind])
            #expect(entry?["data"] == nil)
        }
    }

    @Test func feedHasAttachmentsWhereSupported() async throws {
        try await Workspace.with { workspace in
            let (id, _) = try await workspace.attachPicture()
            let entry = try await workspace.changes("include_docs=true&attachments=true", until: [id])
                .row(id)?.document?["_attachments"]?["picture"]
            let includesAttachments = KnownDifferences.feedIncludesAttachments[workspace.kind]
            #expect(entry?["data"]?.string == (includesAttachments ? Picture.base64 : nil))
            #expect(entry?["stub"]?.bool == (includesAttachments ? nil : true))
        }
    }
}

/// A picture of one pixel, 70 bytes of PNG, which no server compresses.
enum Picture {
    static let base64 =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    static let bytes: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1F, 0x15, 0xC4, 0x89, 0x00, 0x00, 0x00,
        0x0D, 0x49, 0x44, 0x41, 0x54, 0x78, 0xDA, 0x63, 0x64, 0xF8, 0xCF, 0x50, 0x0F, 0x00, 0x03, 0x86, 0x01, 0x80,
        0x5A, 0x34, 0x7D, 0x6B, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
    ]
}

extension Workspace {
    /// Creates a document with the picture; returns its id and revision.
    func attachPicture() async throws -> (id: String, revision: String) {
        let id = id("pictured")
        let entry = #"{"content_type":"image/png","data":"\#(Picture.base64)"}"#
        return (id, try await put(id, #"{"n":1,"_attachments":{"picture":\#(entry)}}"#))
    }

    func attachments(of id: String) async throws -> JSONValue? {
        try await send("GET", path(id))["_attachments"]
    }
}
