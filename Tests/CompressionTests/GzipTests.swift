import Compression
import Testing

@Suite
struct GzipTests {
    private static let text = (0..<20_000).flatMap { Array("line \($0 % 701) of a text\n".utf8) }

    @Test(arguments: [0, 1, 31, 32 << 10, 64 << 10, 200_000])
    func compressedDataDecompressesToTheSameBytes(count: Int) throws {
        let text = Array(Self.text.prefix(count))
        #expect(try Gzip.decompress(Gzip.compress(text), limit: count) == text)
    }

    @Test
    func repetitiveTextGetsSmaller() { #expect(Gzip.compress(Self.text).count < Self.text.count / 8) }

    @Test
    func dataOfAnotherProgramIsDecompressed() throws {
        // printf hello | gzip -n
        let compressed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        #expect(try Gzip.decompress(compressed, limit: 5) == Array("hello".utf8))
    }

    @Test(arguments: [1, 2, 7, 1_000, 1 << 20])
    func severalMembersAreReadAsOne(slice: Int) throws {
        let compressed =
            Gzip.compress(Array(Self.text.prefix(70_000))) + Gzip.compress(Array(Self.text.dropFirst(70_000)))
        var reader = GzipReader()
        var text: [UInt8] = []
        for start in stride(from: 0, to: compressed.count, by: slice) {
            try reader.read(compressed[start..<min(start + slice, compressed.count)], to: &text)
        }
        try reader.finish()
        #expect(text == Self.text)
    }

    @Test
    func flushedDataIsDecompressedBeforeTheEnd() throws {
        var writer = GzipWriter()
        var compressed: [UInt8] = []
        writer.write(Array("half".utf8), to: &compressed, isFlushed: true)
        var reader = GzipReader()
        var text: [UInt8] = []
        try reader.read(compressed[...], to: &text)
        #expect(text == Array("half".utf8))
        #expect(throws: GzipError.cut) { try reader.finish() }
    }

    @Test
    func outputIsLimited() throws {
        let compressed = Gzip.compress([UInt8](repeating: 0, count: 10 << 20))
        #expect(compressed.count < 20_000)
        #expect(throws: GzipError.tooLong) { try Gzip.decompress(compressed, limit: 10 << 20 - 1) }
        #expect(try Gzip.decompress(compressed, limit: 10 << 20).count == 10 << 20)
    }

    @Test
    func truncatedDataIsDetected() throws {
        let compressed = Gzip.compress(Array("some text".utf8))
        for count in 0..<compressed.count {
            #expect(throws: count <= 10 ? GzipError.cutHeader : .cut, "\(count)") {
                try Gzip.decompress(Array(compressed.prefix(count)), limit: 100)
            }
        }
    }

    @Test
    func damageIsDetected() throws {
        let compressed = Gzip.compress(Array("some text that is longer than nothing".utf8))
        for index in compressed.indices where !(4...9).contains(index) {
            var wrong = compressed
            wrong[index] ^= 0xFF
            #expect(throws: GzipError.self, "\(index)") { try Gzip.decompress(wrong, limit: 1 << 20) }
        }
    }

    @Test(arguments: ["{\"a\":1} and more", "hello hello hello"])
    func otherDataIsRefused(text: String) throws {
        #expect(throws: GzipError.noHeader) { try Gzip.decompress(Array(text.utf8), limit: 1 << 20) }
    }
}
