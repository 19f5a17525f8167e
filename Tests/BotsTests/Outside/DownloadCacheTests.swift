import HTTPTransport
import Rules
import Testing

@testable import BotState
@testable import Outside

@Suite struct DownloadCacheTests {
    private static let now = ContinuousClock.now

    private static func record(_ content: AttachmentContent) -> DownloadRecord {
        DownloadRecord(
            etag: "x", lastModified: nil, sha1: content.sha1, md5: content.md5, length: content.length,
            contentType: "image/png")
    }

    private static func key(_ number: Int) -> DownloadCache.Key { DownloadCache.Key(url: "u\(number)", client: "") }

    @Test func leastRecentlyUsedContentIsDroppedFirst() {
        var cache = DownloadCache()
        // 4 MiB each as base64.
        let content = AttachmentContent([UInt8](repeating: 0, count: 3 << 20))
        for number in 0..<4 { cache.insert(Self.record(content), content, freshUntil: Self.now, Self.key(number)) }
        #expect(cache.bytes == 16 << 20)
        #expect(cache.entry(Self.key(0))?.content === content)
        cache.insert(Self.record(content), content, freshUntil: Self.now, Self.key(4))
        #expect(cache.bytes == 16 << 20)
        #expect(cache.entry(Self.key(1)) == nil)
        #expect(cache.entry(Self.key(0)) != nil)
        cache.remove(Self.key(0))
        cache.remove(Self.key(0))
        #expect(cache.bytes == 12 << 20)
    }

    @Test func recordsWithoutContentAreLimitedByNumber() {
        var cache = DownloadCache()
        let record = Self.record(AttachmentContent([1]))
        for number in 0..<10_100 { cache.insert(record, nil, freshUntil: Self.now, Self.key(number)) }
        #expect(cache.entry(Self.key(99)) == nil)
        #expect(cache.entry(Self.key(10_099)) != nil)
    }

    @Test(
        arguments: [
            ([], Duration.seconds(300)), (["max-age=60"], .seconds(60)), (["public, Max-Age=0"], .zero),
            (["no-cache"], .zero), (["max-age=60, no-store"], nil),
            (["max-age=99999999999999999999"], .seconds(86_400)),
            (["max-age=x"], .seconds(300)), (["private", "max-age=5"], .seconds(5)),
        ] as [([String], Duration?)])
    func freshnessFollowsCacheControl(values: [String], freshness: Duration?) {
        #expect(DownloadExchange.freshness(HTTPHeaders(values.map { ("Cache-Control", $0) })) == freshness)
    }

    @Test func ledgerStoresDownloads() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let (first, second) = (AttachmentContent([1]), AttachmentContent([2]))
            try await bed.using { ledger in
                #expect(try await ledger.download(of: "u", client: "") == nil)
                try await ledger.note(Self.record(first), of: "u", client: "")
                try await ledger.note(Self.record(second), of: "u", client: "t")
                try await ledger.note(Self.record(first), of: "v", client: "")
                try await ledger.note(nil, of: "v", client: "")
            }
            let found = try await bed.using { ledger in
                [
                    try await ledger.download(of: "u", client: ""),
                    try await ledger.download(of: "u", client: "t"),
                    try await ledger.download(of: "v", client: ""),
                ]
            }
            #expect(found == [Self.record(first), Self.record(second), nil])
        }
    }
}
