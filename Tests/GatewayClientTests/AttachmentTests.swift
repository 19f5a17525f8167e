import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct AttachmentTests {
    private static let hello = "sha1-kH0U+zrysNTxjC1Gq+iu3OFzZ70="

    private func read(_ body: String, headers: [String], digest: String? = nil) async throws -> (
        String, AttachmentAnswer
    ) {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/att1/hello.txt?rev=1-a")
            try connection.answer(headers: headers, body: body)
        }
        let opened = try await scripted.gateway.openAttachment(
            "hello.txt", of: "att1", revision: RevisionID("1-a"), digest: digest.flatMap { AttachmentDigest($0) })
        var answer = try #require(opened)
        var bytes: [UInt8] = []
        while let part = try await answer.next() { bytes += part }
        #expect(try await answer.next() == nil)
        return (String(decoding: bytes, as: UTF8.self), answer)
    }

    @Test(arguments: ["\"\(hello)\"", nil])
    func matchingDigestIsAccepted(tag: String?) async throws {
        let headers = ["Content-Type: text/plain"] + (tag.map { ["ETag: \($0)"] } ?? [])
        let (text, answer) = try await read("Hello, World", headers: headers, digest: tag == nil ? Self.hello : nil)
        #expect(text == "Hello, World")
        #expect(answer.contentType == "text/plain")
        #expect(answer.byteCount == 12)
        #expect(answer.digest?.description == Self.hello)
    }

    @Test(arguments: [["ETag: \"sha1-kH0U+zrysNTxjC1Gq+iu3OFzZ70=\""], ["ETag: \"+Cm5FPxHz8nAdHwRnCfPGw==\""]])
    func mismatchingDigestIsError(headers: [String]) async throws {
        let error = await #expect(throws: GatewayError.self) {
            _ = try await read("Hello, Wurld", headers: headers + ["Content-Type: image/png"])
        }
        #expect(error?.code == .digestMismatch)
    }

    @Test func uncompressedTextOnCouchDBIsChecked() async throws {
        let headers = ["ETag: \"+Cm5FPxHz8nAdHwRnCfPGw==\"", "Content-Type: text/plain", "Accept-Ranges: bytes"]
        let error = await #expect(throws: GatewayError.self) { _ = try await read("Hello, Wurld", headers: headers) }
        #expect(error?.code == .digestMismatch)
    }

    /// CouchDB's digest of a text may be that of its compressed form.
    @Test(arguments: [
        ["ETag: \"+Cm5FPxHz8nAdHwRnCfPGw==\"", "Content-Type: text/plain"],
        // `compressible_types` can be configured.
        ["ETag: \"+Cm5FPxHz8nAdHwRnCfPGw==\"", "Content-Type: image/png", "Accept-Ranges: none"],
        ["ETag: \"1-a\""], [],
    ])
    func bytesWithoutUsableDigestAreAccepted(headers: [String]) async throws {
        let (text, answer) = try await read("Hello", headers: headers)
        #expect(text == "Hello")
        #expect(answer.digest == nil)
    }

    @Test func attachmentIsWrittenUnchanged() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "PUT")
            #expect(request.target == "/todo/att1/pic.png?rev=6-8d")
            #expect(request.values(of: "content-type") == ["image/png"])
            #expect(request.text == "PNG fake")
            try connection.answer(201, headers: syncGateway, body: #"{"id":"att1","ok":true,"rev":"7-a0"}"#)
        }
        let revision = try await scripted.gateway.putAttachment(
            "pic.png", of: "att1", revision: RevisionID("6-8d"), contentType: "image/png",
            segments: [Array("PNG".utf8), Array(" fake".utf8)])
        #expect(revision.text == "7-a0")
    }

    @Test func missingAttachmentIsNil() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                404, headers: syncGateway, body: #"{"error":"not_found","reason":"missing attachment x"}"#)
        }
        #expect(try await scripted.gateway.openAttachment("x", of: "a") == nil)
    }
}
