import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import Revisions
@testable import Transfer

/// Files that many documents share are read once.
@Suite struct AttachmentFileCacheTests {
    private static func body(_ number: Int, _ byteCount: Int = 3) -> AttachmentBody {
        AttachmentBody(byteCount: byteCount, sha256: "\(number)")
    }

    @Test func sharedFilesStayCachedAndOthersAreEvicted() {
        let size = 1000 - AttachmentFileCache.entryOverhead
        var seen = AttachmentFileCache(limit: 3000)
        for number in 0..<100 {
            seen.note(Self.body(number)) { $0.base64 = Array(repeating: UInt8(number), count: size) }
            #expect(seen.cost <= 3000)
            // The first file is used repeatedly.
            #expect(seen[Self.body(0)].base64?.count == size, "\(number)")
        }
        #expect(seen[Self.body(99)].base64?.first == 99)
        #expect(seen[Self.body(50)].base64 == nil)
        #expect(seen.cost == 3000)
    }

    @Test func factsOfOneFileShareAnEntry() throws {
        var seen = AttachmentFileCache()
        var calculation = AttachmentDigest.Calculation(for: .syncGateway)
        calculation.update([1, 2, 3])
        seen.note(Self.body(1)) { $0.base64 = [1] }
        seen.note(Self.body(1)) { $0.digest = calculation.digest() }
        #expect(seen.cost == AttachmentFileCache.entryOverhead + 1)
        #expect(seen[Self.body(1)].base64 == [1] && seen[Self.body(1)].digest == calculation.digest())
        #expect(seen[Self.body(1, 4)].base64 == nil)
        #expect(seen[Self.body(2)].digest == nil)
    }

    @Test func oversizedEntryIsEvictedImmediately() {
        var seen = AttachmentFileCache(limit: 1000)
        seen.note(Self.body(1)) { $0.base64 = Array(repeating: 1, count: 2000) }
        #expect(seen.cost == 0 && seen[Self.body(1)].base64 == nil)
        for number in 0..<10 { seen.note(Self.body(number)) { $0.base64 = [1] } }
        #expect(seen[Self.body(9)].base64 == [1])
    }

    @Test(arguments: [GatewayDialect.syncGateway, .couchDB])
    func sharedFileIsReadOnce(dialect: GatewayDialect) async throws {
        try await withDirectory { folder in
            let bytes = Array("picture".utf8)
            let body = AttachmentBody(byteCount: bytes.count, sha256: Digest.sha256.hex(bytes))
            let path = "\(folder)/\(body.file)"
            try FileManager.default.createDirectory(
                atPath: String(path.dropLast(65)), withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let reading = AttachmentReading(AttachmentStore(folder))
            let text = try await reading.base64(of: body, "a")
            #expect(text == Base64.encode(bytes))
            let document = try JSONText(#"{"_attachments":{"a":{"file":"\#(body.file)"}}}"#)
            let attachment = try ImportAttachment.all(of: document.root, store: AttachmentStore(folder))[0]
            let digest = try await reading.digest(of: attachment, in: document, for: dialect)?.digest

            try FileManager.default.removeItem(atPath: path)
            #expect(try await reading.base64(of: body, "b") == text)
            #expect(try await reading.digest(of: attachment, in: document, for: dialect)?.digest == digest)
            // A file with another length is read again.
            let other = AttachmentBody(byteCount: bytes.count + 1, sha256: body.sha256)
            await #expect(throws: AttachmentError.self) { try await reading.base64(of: other, "a") }
        }
    }
}
