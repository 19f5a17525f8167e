import Compression
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// gzip in both directions.
///
/// - Note: Source: RFC 1952; RFC 9110, section 8.4.
@Suite(.limitedParallelism) struct CompressionTests {
    private static let encoded = [(name: "Content-Encoding", value: "gzip")]

    @Test func compressedDocumentIsAccepted() async throws {
        try await Workspace.with { workspace in
            let path = workspace.path(workspace.id("doc"))
            let body = Gzip.compress(#"{"n":1}"#.bytes)
            let written = try await workspace.send("PUT", path, bytes: body, headers: Self.encoded)
            #expect(written.status == 201)
            let read = try await workspace.send("GET", path)
            #expect(read["n"]?.integer == 1)
        }
    }

    @Test func compressedBulkIsAccepted() async throws {
        try await Workspace.with { workspace in
            let ids = (0..<100).map { workspace.id("n\($0)") }
            let documents = ids.map { "{\"_id\":\($0.json)}" }.joined(separator: ",")
            let reply = try await workspace.send(
                "POST", "/_bulk_docs", bytes: Gzip.compress("{\"docs\":[\(documents)]}".bytes), headers: Self.encoded)
            #expect(reply.status == 201)
            #expect(reply.elements().map { $0["id"]?.string } == ids)
        }
    }

    /// A JSON object with truncated compressed text, exactly as in the recording.
    private static let cut: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x16, 0xB8, 0x00, 0x6B, 0x02, 0xFF, 0xAB, 0x56, 0x4A, 0x54, 0xB2, 0x52, 0x50, 0xAA,
        0x18, 0x05, 0x23, 0x0E,
    ]

    @Test func truncatedBodyIsRefused() async throws {
        try await expect(KnownDifferences.cutGzip, of: Self.cut, "gzip")
    }

    @Test func uncompressedBodyIsRefused() async throws {
        try await expect(KnownDifferences.plainAsGzip, of: #"{"a": 1}"#.bytes, "gzip")
    }

    @Test func otherEncodingsAreRefused() async throws {
        try await expect(KnownDifferences.deflate, of: #"{"n":1}"#.bytes, "deflate")
    }

    private func expect(_ expected: Expected<Outcome>, of body: [UInt8], _ encoding: String) async throws {
        try await Workspace.with { workspace in
            let path = workspace.path(workspace.id("doc"))
            let reply = try await workspace.send("PUT", path, bytes: body, headers: [("Content-Encoding", encoding)])
            let expected = expected[workspace.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
            #expect(try await workspace.send("GET", path).status == 404)
        }
    }

    @Test(arguments: ["normal", "longpoll"]) func feedIsCompressedOnRequest(_ feed: String) async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let path = workspace.changesPath("feed=\(feed)")
            let reply = try await workspace.send("GET", path, headers: [("Accept-Encoding", "gzip")])
            #expect(reply.status == 200)
            let compresses = KnownDifferences.compressesAnswers[workspace.kind]
            #expect(reply.headers["Content-Encoding"] == (compresses ? "gzip" : nil))
            let text = compresses ? try Gzip.decompress(reply.bytes, limit: 1 << 24) : reply.bytes
            let reported = try JSONText(text).root["results"]?.elements.compactMap { $0["id"]?.string } ?? []
            #expect(Set(reported).isSuperset(of: ids))
        }
    }

    @Test func nothingIsCompressedUnrequested() async throws {
        try await Workspace.with { workspace in
            try await workspace.put(workspace.id("doc"))
            #expect(try await workspace.send("GET", workspace.changesPath()).headers["Content-Encoding"] == nil)
        }
    }
}
