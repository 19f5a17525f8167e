import LosslessJSON
import Testing

@testable import Pipeline

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
    func theBodyIsJSONTextOrNull(body: String, type: String, expected: String) throws {
        #expect(try answer(body, type: type) == expected)
    }

    @Test func withoutATypeJSONIsRecognized() throws {
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

    @Test func bytesThatAreNotUTF8StillMakeText() throws {
        let json = try #require(WebhookAnswer.json(status: 200, [], [0xFF, 0x41]))
        #expect(json.root["body"]?.string == "\u{FFFD}A")
    }

    @Test func anExcerptIsShortAndVisible() {
        #expect(WebhookAnswer.excerpt(Array("a\u{1B}[31m\nb\u{202E}".utf8)) == "a [31m b ")
        #expect(WebhookAnswer.excerpt(Array(String(repeating: "é", count: 300).utf8)).count == 201)
        #expect(WebhookAnswer.excerpt([]).isEmpty)
    }
}
