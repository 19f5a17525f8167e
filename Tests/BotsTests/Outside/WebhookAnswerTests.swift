import Compression
import HTTPTransport
import LosslessJSON
import Testing

@testable import Outside

@Suite struct WebhookAnswerTests {
    private func answer(_ body: String, type: String? = nil, status: Int = 200) throws -> String {
        let fields = type.map { [(name: "Content-Type", value: $0)] } ?? []
        let json = try #require(WebhookAnswer.json(status: status, fields, Array(body.utf8)))
        return String(decoding: try #require(json.root["body"]).bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (#"{"id":12345678901234567890}"#, "application/json", #"{"id":12345678901234567890}"#),
        (#" [1] "#, "text/html", "[1]"), ("12", "text/plain", #""12""#), ("12", "application/vnd.x+json", "12"),
        (#"{"id":"#, "application/json", #""{\"id\":""#), ("ok", "application/json", #""ok""#),
        ("", "text/plain", "null"),
    ])
    func bodyIsJSONTextOrNull(body: String, type: String, expected: String) throws {
        #expect(try answer(body, type: type) == expected)
    }

    @Test func jsonIsRecognizedWithoutAType() throws {
        #expect(try answer("12") == "12")
        #expect(try answer("hello") == #""hello""#)
    }

    @Test func headersHaveLowerCaseNamesAndAreJoined() throws {
        let json = try #require(
            WebhookAnswer.json(
                status: 201, [("Location", "/a"), ("X-Tag", "1"), ("x-tag", "2")], Array("x".utf8)))
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == #"{"status":201,"headers":{"location":"/a","x-tag":"1, 2"},"body":"x"}"#)
    }

    @Test func excerptIsShortAndPrintable() {
        #expect(WebhookAnswer.excerpt(Array("a\u{1B}[31m\nb\u{202E}".utf8)) == "a [31m b ")
        #expect(WebhookAnswer.excerpt(Array(String(repeating: "é", count: 300).utf8)).count == 201)
        #expect(WebhookAnswer.excerpt([]).isEmpty)
    }

    // MARK: - Content codings

    private func codings(_ values: String...) -> ContentCodings {
        ContentCodings(HTTPHeaders(values.map { (name: "Content-Encoding", value: $0) }))
    }

    /// Regression: the compressed bytes were merged as text.
    @Test func compressedResponseIsDecompressed() throws {
        let text = Array(#"{"id":7}"#.utf8)
        let once = Gzip.compress(text)
        for coding in ["gzip", "x-gzip", "GZIP", " gzip ", "identity, gzip"] {
            #expect(try codings(coding).decode(once, limit: 100) == text)
        }
        #expect(try codings("gzip, gzip").decode(Gzip.compress(once), limit: 100) == text)
        #expect(try codings("gzip", "gzip").decode(Gzip.compress(once), limit: 100) == text)
        #expect(try codings().decode(text, limit: 1) == text)
        #expect(try codings("identity").decode(text, limit: 1) == text)
        #expect(try codings("gzip").decode([], limit: 1).isEmpty)
        #expect(codings("gzip").decodeBeginning(Array(once.dropLast(8)), limit: 100) == text)
        #expect(codings("br").decodeBeginning(once, limit: 100).isEmpty)
    }

    @Test(arguments: [
        ("br", "content coding 'br'"), ("deflate", "content coding 'deflate'"), ("gzip, zstd", "content coding 'zstd'"),
        ("gzip", "not gzip"), ("gzip, gzip, gzip, gzip, gzip", "too many content codings, 5"),
    ])
    func unknownCodingIsNamed(coding: String, part: String) {
        let error = #expect(throws: ContentCodings.Failure.self) {
            try codings(coding).decode(Array("plain text, not compressed".utf8), limit: 100)
        }
        #expect(error?.reason.contains(part) == true)
    }

    @Test func responseThatExpandsTooFarIsTooLong() {
        let error = #expect(throws: ContentCodings.Failure.self) {
            try codings("gzip").decode(Gzip.compress([UInt8](repeating: 0x20, count: 2 << 20)), limit: 1 << 20)
        }
        #expect(error?.isTooLong == true)
    }
}
