import Testing

@testable import Encodings

@Suite struct Base64Tests {
    /// The first five are those of RFC 4648, section 10.
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("\u{0}\u{7F}", "AH8="),
        ])
    func bytesAreEncoded(text: String, base64: String) throws {
        #expect(Base64.text(Array(text.utf8)) == base64)
        #expect(try Base64.decode(Array(base64.utf8)) == Array(text.utf8))
    }

    @Test(
        arguments: [
            ("QU\nJD", [0x41, 0x42, 0x43]), ("\r\nQQ=\n=\r\n", [0x41]), ("QUJDQUJ\nDQUI=", Array("ABCABCAB".utf8)),
            ("QR==", [0x41]),
        ] as [(String, [UInt8])])
    func lineBreaksAndUnusedBitsAreIgnored(text: String, bytes: [UInt8]) throws {
        #expect(try Base64.decode(Array(text.utf8)) == bytes)
    }

    @Test(arguments: [
        ("***", 0), ("QUI", 3), ("Q===", 1), ("QQ==QQ", 4), ("QU!D", 2), ("=", 0), ("QUJD=", 4), ("QUJDQQ=", 7),
        ("QUJDQUJ ", 7), ("QUJDQQ===", 8), ("QU-_", 2),
    ])
    func invalidTextIsRefusedWithPlace(text: String, offset: Int) {
        #expect(throws: Base64Error(offset: offset)) { try Base64.decode(Array(text.utf8)) }
    }

    @Test func bytesRoundTripInPiecesOfAnySize() throws {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(try Base64.decode(Base64.encode(bytes)) == bytes)
            for size in 1...7 {
                var encoder = Base64Encoder()
                var text: [UInt8] = []
                for start in stride(from: 0, to: count, by: size) {
                    text += encoder.encode(Array(bytes[start..<min(start + size, count)]))
                }
                #expect(text + encoder.finish() == Base64.encode(bytes))
            }
        }
    }

    @Test func digitsAreDistinguished() {
        let digits = (UInt8.min ... .max).filter(Base64.isDigit)
        #expect(digits.count == 64)
        #expect(Base64.areDigits(digits[...]))
        for other in UInt8.min ... .max where !Base64.isDigit(other) {
            #expect(!Base64.areDigits([0x41, other, 0x41]))
        }
    }
}
