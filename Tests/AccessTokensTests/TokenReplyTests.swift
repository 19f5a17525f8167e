import Testing

@testable import AccessTokens

@Suite struct TokenReplyTests {
    private func reply(_ status: Int, secret: String = "s3cr3t-value") -> TokenReply {
        TokenReply(server: TokenServer(url: "https://id.example/token?tenant=x"), secret: secret, status: status)
    }

    private func answer(_ body: String) throws -> TokenAnswer {
        try reply(200).answer(Array(body.utf8), retryAfter: nil)
    }

    @Test(arguments: [
        (#"{"access_token":"abc","token_type":"Bearer","expires_in":10}"#, 10.0),
        (#"{"access_token":"abc","token_type":"bearer","expires_in":"3600"}"#, 3600),
        (#"{"access_token":"abc"}"#, nil), (#"{"access_token":"abc","expires_in":0}"#, nil),
        (#"{"access_token":"abc","expires_in":null}"#, nil), (#"{"access_token":"abc","expires_in":-5}"#, nil),
        // IBM Cloud.
        (
            #"{"access_token":"abc","refresh_token":"not_supported","token_type":"Bearer","expires_in":3600,"expiration":1473188353,"scope":"ibm openid"}"#,
            3600
        ),
    ])
    func tokenAndItsLifetimeAreRead(body: String, seconds: Double?) throws {
        let answer = try answer(body)
        #expect(answer.text == "abc")
        #expect(answer.lifetime == seconds.map { .seconds($0) })
    }

    @Test(
        arguments: [
            (200, "<!DOCTYPE html><p>Sign in", TokenError.Kind.malformed, "answers with an HTML page (HTTP 200)"),
            (200, "", .malformed, "answers with something that is not JSON (HTTP 200)"),
            (200, #"{"token":"x"}"#, .malformed, "has no usable access_token"),
            (200, #"{"access_token":"a\nb"}"#, .malformed, "has no usable access_token"),
            (200, #"{"access_token":"a","token_type":"mac"}"#, .malformed, "tokens of the type 'mac'; only bearer"),
            (302, "", .malformed, "answers with a redirect (HTTP 302)"),
            (404, "<html>", .malformed, "answers with an HTML page (HTTP 404)"),
            (
                401, #"{"error":"invalid_client","error_description":"no s3cr3t-value"}"#, .refused,
                "invalid_client: no ***"
            ),
            (400, #"{"error":"invalid_scope"}"#, .refused, "(invalid_scope); check scope"),
            (
                400, #"{"errorCode":"BXNIM0415E","errorMessage":"Provided API key could not be found."}"#, .refused,
                "BXNIM0415E: Provided API key could not be found.); check the API key"
            ),
            (400, #"{"error":"temporarily_unavailable"}"#, .unavailable, "asked again later"),
            (429, "<html>", .unavailable, "HTTP 429; it is asked again later"),
            (503, "", .unavailable, "HTTP 503"), (500, #"{"error":"x\u001b"}"#, .unavailable, "HTTP 500 (x );"),
        ] as [(Int, String, TokenError.Kind, String)])
    func otherAnswersHaveAKindAndARemedy(status: Int, body: String, kind: TokenError.Kind, message: String) {
        let error = #expect(throws: TokenError.self) {
            try reply(status).answer(Array(body.utf8), retryAfter: .seconds(7))
        }
        #expect(error?.kind == kind)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("https://id.example/token") == true)
        #expect(error?.message.contains("tenant") == false && error?.message.contains("s3cr3t-value") == false)
        if status == 429 { #expect(error?.retryAfter == .seconds(7)) }
    }

    @Test func secretsAreNotPrinted() {
        let method = TokenMethod.clientCredentials(
            .init(
                server: TokenServer(url: "https://h"), clientID: "bot", secret: .text("s3cr3t"), scope: nil,
                form: .basic)
        )
        var dumped = ""
        dump(method, to: &dumped)
        for text in ["\(method)", String(reflecting: method), dumped, "\(AccessToken(text: "s3cr3t", number: 1))"] {
            #expect(!text.contains("s3cr3t"), "\(text)")
        }
    }
}
