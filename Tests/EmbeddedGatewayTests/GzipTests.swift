import Testing

@testable import EmbeddedGateway

@Suite struct GzipTests {
    private static let limit = 1 << 20

    private static let json = Array(
        (0..<40).map { "{\"id\":\"task-\($0 * 7_919 % 1_000)\",\"n\":\($0 * $0)}\n" }.joined().utf8)

    /// ``json`` as zlib packs it at its best, with codes of its own.
    private static let packed = """
        H4sIAAAAAAACA2WSu0qFQQyEex9ja4XNPTlvI9iIYKPdwXcX2UT8x3aGbDLfzn29vqzb+nz+eHva63G9r9v+erj/UYvq6HTVU/Lo
        etXD4uh11T283/GrYWXHYAOD9BgCEyrSq2GHGB/D4SgOOkZCCqpOTRty057cDDPcwUlhS2lMRDgsfcIXZImc9Bg/tg4XmHHu/Jyw
        x7QBCMNt6jQwIY5kI1BEwNUIVBEBzecn7CFpBsZ4WyOwgDgVjcARQVYjcJxJagSBa0IaQeBpblMCjGPRCAoRaDaCQmy6pwYbWQtP
        DzZ+EOsUgfBXyW0K94+DjoP1aQok2Lhi/m2p4mvNgeyn2t/Xsj2/AwQAAA==
        """

    private static var packedBytes: [UInt8] {
        get throws { try Base64.decode(Array(packed.utf8)).get() }
    }

    @Test func whatZlibPackedIsUnpacked() throws {
        #expect(try Gzip.unpack(Self.packedBytes, limit: Self.limit) == Self.json)
    }

    @Test(
        arguments: [
            [], [0x41], Array("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".utf8), json,
            (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5 ^ $0) },
            [UInt8](repeating: 0xFF, count: 100_000),
        ] as [[UInt8]])
    func textsGoThereAndBack(text: [UInt8]) throws {
        #expect(try Gzip.unpack(Gzip.pack(text), limit: Self.limit) == text)
    }

    @Test func jsonBecomesShorter() {
        let text = Array(String(decoding: Self.json, as: UTF8.self).utf8)
        #expect(Gzip.pack(text).count < text.count / 2)
    }

    @Test func piecesCanBeUnpackedAsTheyCome() throws {
        var stream = GzipStream()
        var packed = stream.pack(Array("one ".utf8))
        packed += stream.pack(Array("two".utf8))
        packed += stream.finish()
        #expect(try Gzip.unpack(packed, limit: 7) == Array("one two".utf8))
        #expect(throws: Gzip.Fault.tooLong) { try Gzip.unpack(packed, limit: 6) }
    }

    @Test func severalTextsAreOne() throws {
        let packed = Gzip.pack([1]) + Gzip.pack([2, 3])
        #expect(try Gzip.unpack(packed, limit: 10) == [1, 2, 3])
    }

    @Test func aCutTextIsRefusedWhereverItIsCut() throws {
        let packed = try Self.packedBytes
        for count in 0..<packed.count {
            #expect(throws: count < 10 ? Gzip.Fault.cutHeader : .cut) {
                try Gzip.unpack(Array(packed.prefix(count)), limit: Self.limit)
            }
        }
    }

    @Test func noBitThatIsWrongGoesUnseen() throws {
        let packed = try Self.packedBytes
        for index in 10..<packed.count {
            for bit in 0..<8 {
                var wrong = packed
                wrong[index] ^= 1 << UInt8(bit)
                #expect(throws: Gzip.Fault.self) { try Gzip.unpack(wrong, limit: Self.limit) }
            }
        }
    }

    @Test(arguments: [[UInt8](repeating: 7, count: 10), [0x1F, 0x8B, 9] + [UInt8](repeating: 0, count: 7)])
    func whatIsNotGzipIsTold(bytes: [UInt8]) {
        #expect(throws: Gzip.Fault.noHeader) { try Gzip.unpack(bytes, limit: Self.limit) }
    }

    @Test(arguments: [
        ("GET", "/open/_all_docs", "gzip, br", true), ("GET", "/open/a", "gzip", true), ("GET", "/open/a", "br", false),
        ("HEAD", "/open/a", "gzip", false), ("GET", "/open/none", "gzip", false),
        ("GET", "/open/_changes?feed=continuous&limit=1", "gzip", false),
        ("GET", "/open/_changes?feed=longpoll", "gzip", true),
        ("POST", "/open/_bulk_get", "gzip", false),
    ])
    func answersArePackedForThoseWhoTakeIt(method: String, target: String, accepted: String, isPacked: Bool)
        async throws
    {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"v":1}"#)
        let fields = [HTTPField.json, HTTPField("accept-encoding", accepted)]
        let packed = try await gateway.answer(method, target, #"{"docs":[]}"#, fields: fields)
        #expect(packed.field("Content-Encoding") == (isPacked ? "gzip" : nil))
        let plain = try await gateway.answer(method, target, #"{"docs":[]}"#)
        guard isPacked else { return }
        #expect(try Gzip.unpack(packed.bytes, limit: Self.limit) == plain.bytes)
    }

    @Test func aClientThatUnderstandsItGetsItsDocumentsPacked() async throws {
        let fields = [
            HTTPField.json, HTTPField("Accept-Encoding", "gzip"), HTTPField("User-Agent", "CouchbaseLite/1.3"),
        ]
        let answer = try await TestGateway().answer("POST", "/open/_bulk_get", #"{"docs":[]}"#, fields: fields)
        #expect(answer.field("Content-Encoding") == "gzip")
    }
}
