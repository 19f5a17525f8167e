import Testing

@testable import GatewayClient
@testable import HTTPTransport

@Suite struct MultipartReaderTests {
    private struct Part: Equatable {
        var type: String?
        var text = ""
        var hasEnded = false
    }

    private func parts(_ pieces: [[UInt8]], boundary: String = "b1") throws -> (parts: [Part], isComplete: Bool) {
        var reader = MultipartReader(boundary: boundary)
        var parts: [Part] = []
        for piece in pieces {
            reader.append(piece)
            while let piece = try reader.next() {
                switch piece {
                case .part(let headers): parts.append(Part(type: headers["content-type"]))
                case .data(let data): parts[parts.count - 1].text += String(decoding: data, as: UTF8.self)
                case .partEnd: parts[parts.count - 1].hasEnded = true
                }
            }
        }
        return (parts, reader.isComplete)
    }

    private static let body =
        "--b1\r\nContent-Type: application/json\r\nX-Doc-Id: a\r\n\r\n{\"a\":1}\r\n--b1 \t\r\n\r\nno\r\nheader\r\n--b"
        + "\r\n--b12\r\n-\r\r\n--b1\r\nContent-Type: text/plain\r\n\r\n\r\n--b1--\r\nepilogue --b1"
    private static let expected = [
        Part(type: "application/json", text: "{\"a\":1}", hasEnded: true),
        Part(type: nil, text: "no\r\nheader\r\n--b\r\n--b12\r\n-\r", hasEnded: true),
        Part(type: "text/plain", text: "", hasEnded: true),
    ]

    @Test func bodyMaySplitAnywhere() throws {
        let bytes = Array(Self.body.utf8)
        for cut in bytes.indices {
            let (parts, isComplete) = try parts([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(parts == Self.expected, "cut at \(cut)")
            #expect(isComplete)
        }
    }

    @Test func bodyMayArriveByteByByte() throws {
        let (parts, isComplete) = try parts(Self.body.utf8.map { [$0] })
        #expect(parts == Self.expected)
        #expect(isComplete)
    }

    @Test func preambleIsSkipped() throws {
        #expect(try parts([Array(("preamble\r\n" + Self.body).utf8)]).parts == Self.expected)
    }

    @Test func bodyWithoutClosingDelimiterIsIncomplete() throws {
        let end = try #require(Self.body.range(of: "--b1--")).lowerBound
        let cut = Array(Self.body[..<end].utf8)
        #expect(try !parts([cut]).isComplete)
    }

    @Test func partIsReturnedBeforeItsEnd() throws {
        var reader = MultipartReader(boundary: "b")
        reader.append(Array("--b\r\n\r\n".utf8))
        _ = try reader.next()
        var count = 0
        for _ in 0..<1000 {
            reader.append([UInt8](repeating: 0x78, count: 1000))
            while case .data(let data)? = try reader.next() { count += data.count }
        }
        #expect(count == 1_000_000)
    }

    @Test func endlessHeaderIsRefused() {
        let header = "--b1\r\nA: " + String(repeating: "x", count: MultipartReader.headerLimit + 1)
        #expect(throws: MultipartReader.FormatError.headerTooLong) { try parts([Array(header.utf8)]) }
    }

    @Test(arguments: [
        ("multipart/mixed; boundary=\"4e76\"", "--4e76--", true),
        ("Multipart/Related;type=\"x\"; Boundary=4e76", "--4e76--", true),
        ("multipart/mixed; boundary=4e76 ", "--4e76--", true),
        ("multipart/mixed", "", false), ("multipart/mixed; boundary=\"\"", "", false),
        ("application/json; boundary=x", "", false),
    ])
    func boundaryIsReadFromContentType(type: String, body: String, isMultipart: Bool) throws {
        guard var reader = MultipartReader(contentType: type) else {
            #expect(!isMultipart)
            return
        }
        reader.append(Array(body.utf8))
        #expect(try reader.next() == nil)
        #expect(isMultipart && reader.isComplete)
    }

    @Test(arguments: 0..<20)
    func mutatedBodiesNeverTrap(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }
        for _ in 0..<300 {
            var bytes = Array(Self.body.utf8)
            for _ in 0...random(4) {
                switch random(3) {
                case 0: bytes[random(bytes.count)] = UInt8(random(256))
                case 1: bytes.remove(at: random(bytes.count))
                default: bytes.insert(Array("\r\n-b1: ".utf8)[random(7)], at: random(bytes.count))
                }
            }
            let cut = random(bytes.count)
            var reader = MultipartReader(boundary: "b1")
            for piece in [bytes[..<cut], bytes[cut...]] {
                reader.append(Array(piece))
                while (try? reader.next()) != nil {}
            }
        }
    }
}
