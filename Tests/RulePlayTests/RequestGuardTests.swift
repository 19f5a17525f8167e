import HTTPServing
import Testing

@testable import RulePlay

/// Which requests are answered.
@Suite struct RequestGuardTests {
    private let token = PlayToken()
    private var requestGuard: RequestGuard { RequestGuard(token: token) }

    /// Another site's page may point its host name to the address of this machine.
    @Test(arguments: [
        ("127.0.0.1:4990", true), ("localhost", true), ("LOCALHOST:1", true), ("[::1]:80", true), ("127.1.2.3", true),
        ("evil.example", false), ("evil.example:4990", false), ("127.0.0.1.evil.example", false), ("", false),
        ("10.0.0.7", false), ("0.0.0.0:80", false), ("[fe80::1]:80", false), ("127.1", false),
        ("localhost.evil", false), ("[::1]evil.example", false), ("[::1]evil.example:80", false), ("[::1]]", false),
        ("[::1]:80.evil.example", false), ("[::1", false), ("127.0.0.1:80.evil.example", false), ("[::1]", true),
    ]) func onlyLoopbackHostsAreAnswered(_ host: String, _ isAnswered: Bool) {
        let refusal = requestGuard.refusal(Request("GET", "/", fields: [HTTPField("Host", host)]))
        #expect((refusal == nil) == isAnswered)
        if !isAnswered { #expect(refusal?.status == 421) }
    }

    @Test func requestWithoutHostIsRefused() {
        #expect(requestGuard.refusal(Request("GET", "/"))?.status == 421)
    }

    @Test(arguments: [
        ("http://127.0.0.1:4990", true), ("http://localhost:4990", false), ("http://127.0.0.1:4991", false),
        ("https://127.0.0.1:4990", false), ("null", false), ("http://evil.example", false),
        ("http://127.0.0.1:4990.evil.example", false),
    ]) func onlyTheOwnOriginIsAnswered(_ origin: String, _ isAnswered: Bool) {
        let fields = [HTTPField("Host", "127.0.0.1:4990"), HTTPField("Origin", origin)]
        #expect((requestGuard.refusal(Request("POST", "/api/open", fields: fields)) == nil) == isAnswered)
    }

    private func data(_ fields: [HTTPField], method: String = "POST") -> Int? {
        requestGuard.refusalOfData(Request(method, "/api/open", fields: fields))?.status
    }

    @Test func dataNeedsTheToken() {
        let type = HTTPField("Content-Type", "application/json")
        let right = HTTPField(RequestGuard.tokenField, token.text)
        #expect(data([type, right]) == nil)
        #expect(data([type]) == 401)
        #expect(data([type, HTTPField(RequestGuard.tokenField, PlayToken().text)]) == 401)
        #expect(data([type, HTTPField(RequestGuard.tokenField, String(token.text.dropLast()))]) == 401)
        #expect(data([type, HTTPField(RequestGuard.tokenField, "")]) == 401)
    }

    /// A form of another site can send only these types without asking.
    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    func otherTypesAreRefused(_ type: String) {
        #expect(data([HTTPField("Content-Type", type), HTTPField(RequestGuard.tokenField, token.text)]) == 415)
    }

    @Test(arguments: ["GET", "PUT", "OPTIONS", "DELETE"]) func otherMethodsAreRefused(_ method: String) {
        #expect(data([HTTPField(RequestGuard.tokenField, token.text)], method: method) == 405)
    }

    @Test(
        arguments: [("same-origin", nil), ("same-site", 403), ("cross-site", 403), ("none", 403)] as [(String, Int?)])
    func otherSitesAreRefused(_ site: String, _ status: Int?) {
        let fields = [
            HTTPField("Content-Type", "application/json"), HTTPField(RequestGuard.tokenField, token.text),
            HTTPField("Sec-Fetch-Site", site),
        ]
        #expect(data(fields) == status)
    }

    @Test func tokensAreLongAndDiffer() {
        let tokens = Set((0..<100).map { _ in PlayToken().text })
        #expect(tokens.count == 100)
        #expect(tokens.allSatisfy { $0.count == 32 })
    }
}
