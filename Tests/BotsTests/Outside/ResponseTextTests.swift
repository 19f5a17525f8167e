import HTTPTransport
import Testing

@testable import Outside

/// The encodings of responses.
@Suite struct ResponseTextTests {
    private func text(_ body: [UInt8], _ type: String?) throws -> String {
        let headers = HTTPHeaders(type.map { [(name: "Content-Type", value: $0)] } ?? [])
        return String(decoding: try ResponseText(headers).decode(body), as: UTF8.self)
    }

    private func utf16(_ text: String, isBigEndian: Bool) -> [UInt8] {
        text.utf16.flatMap { unit in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBigEndian ? bytes : bytes.reversed()
        }
    }

    /// Regression: the bytes were merged as text with NUL characters.
    @Test(arguments: [true, false]) func utf16IsDecoded(isBigEndian: Bool) throws {
        let json = "{\"id\":\"\u{E4}\u{1F34E}\"}"
        let suffix = isBigEndian ? "be" : "le"
        for type in [nil, "application/json", "application/json; charset=utf-16", "text/plain;charset=\"UTF-16\""] {
            for mark in ["", "\u{FEFF}"] {
                #expect(try text(utf16(mark + json, isBigEndian: isBigEndian), type) == json, "\(type ?? "")")
            }
        }
        #expect(try text(utf16("\u{E4}", isBigEndian: isBigEndian), "text/plain; charset=utf-16\(suffix)") == "\u{E4}")
    }

    @Test func utf16WithoutMarkIsBigEndianUnlessItsFirstCharacterIsASCII() throws {
        #expect(try text([0x20, 0xAC], "text/plain; charset=utf-16") == "\u{20AC}")
        #expect(try text([0x41, 0x00], "text/plain; charset=utf-16") == "A")
    }

    @Test(arguments: [
        "iso-8859-1", "ISO-8859-1", "latin1", "windows-1252", "\"iso-8859-1\"", "us-ascii", "iso-8859-1; x=y",
    ])
    func singleByteCharsetsAreDecoded(charset: String) throws {
        #expect(try text([0x7B, 0xE4, 0x80, 0x9F], "text/plain; charset=\(charset)") == "{\u{E4}\u{20AC}\u{178}")
    }

    @Test(arguments: [nil, "application/json", "application/json; charset=utf-8", "text/plain; charset=iso-8859-1"])
    func utf8MarkIsRemoved(type: String?) throws {
        #expect(try text([0xEF, 0xBB, 0xBF] + Array("{\"a\":\"ä\"}".utf8), type) == "{\"a\":\"ä\"}")
    }

    @Test(
        arguments: [
            ([0xFF, 0x41], nil, "not valid UTF-8"), ([0x41, 0xE4], "application/json", "not valid UTF-8"),
            ([0xE4], "text/plain; charset=utf-8", "not valid UTF-8"),
            ([0xFF, 0xFE, 0x00, 0xD8], "application/json", "not valid UTF-16"),
            ([0xFF, 0xFE, 0x41], nil, "not valid UTF-16"), ([0x41], "text/plain; charset=shift_jis", "'shift_jis'"),
        ] as [([UInt8], String?, String)])
    func otherTextIsRefused(body: [UInt8], type: String?, part: String) {
        let error = #expect(throws: ResponseText.Failure.self) { try text(body, type) }
        #expect(error?.reason.contains(part) == true)
    }

    @Test func binaryResponseHasNoText() throws {
        #expect(try text([0x89, 0x50, 0x4E, 0x47, 0xFF], "image/png").isEmpty)
        #expect(try text(Array("{}".utf8), "application/octet-stream") == "{}")
        #expect(try text([], "text/plain; charset=shift_jis").isEmpty)
    }

    @Test func beginningForAMessageIsNeverRefused() {
        let headers = HTTPHeaders([(name: "Content-Type", value: "application/json; charset=utf-16le")])
        let text = ResponseText(headers).decodeBeginning(utf16("{\"error\"", isBigEndian: false) + [0x41])
        #expect(String(decoding: text, as: UTF8.self) == "{\"error\"")
        #expect(ResponseText(HTTPHeaders([])).decodeBeginning([0x41, 0xE2]) == [0x41, 0xE2])
    }
}
