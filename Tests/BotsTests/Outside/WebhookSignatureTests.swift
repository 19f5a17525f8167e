import Testing

@testable import Outside
@testable import Rules

@Suite struct WebhookSignatureTests {
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func headers(_ secrets: String...) throws -> [String: String] {
        let secrets = try secrets.map { try #require(WebhookSignature.Secret($0)) }
        let headers = WebhookSignature.headers(id: Self.id, timestamp: 1_614_265_330, body: Self.body, secrets: secrets)
        return Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) })
    }

    /// The example from the tests of the Standard Webhooks libraries.
    @Test func signatureMatchesThePublishedExample() throws {
        #expect(
            try headers(Self.secret) == [
                "webhook-id": Self.id, "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ])
    }

    @Test func secretPrefixIsOptional() throws {
        #expect(try headers(String(Self.secret.dropFirst(6))) == headers(Self.secret))
    }

    @Test func twoSecretsGiveTwoSignatures() throws {
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        let both = try #require(try headers(Self.secret, other)["webhook-signature"])
        let signatures = try [headers(Self.secret), headers(other)].compactMap { $0["webhook-signature"] }
        #expect(both == signatures.joined(separator: " "))
        #expect(Set(signatures).count == 2)
    }

    @Test func unsignedWebhookHasIDAndTimestamp() throws {
        #expect(try headers() == ["webhook-id": Self.id, "webhook-timestamp": "1614265330"])
    }

    /// The example of GitHub's documentation, "Validating webhook deliveries".
    @Test func headerSignatureMatchesGitHubsExample() throws {
        let form = WebhookSignatureForm.header(.github)
        let secret = try #require(WebhookSignature.Secret("It's a Secret to Everybody", for: form))
        let headers = WebhookSignature.headers(
            form, id: "i", timestamp: 7, body: Array("Hello, World!".utf8), secrets: [secret])
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "X-Hub-Signature-256"])
        #expect(
            headers.last?.value == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
    }

    /// The values are those of `openssl dgst -ALGORITHM -hmac key`.
    @Test(
        arguments: [
            (.sha1, .hex, "4fd0b215276ef12f2b3e4c8ecac2811498b656fc"),
            (.sha256, .base64, "nBluMtwBdfhvSxy4konWYZ3mvuaZ5MN45oMJ7Zehpqs="),
            (
                .sha512, .base64,
                "OSaiB8jEKwxBeSy9PhoaqvX3olcE9i38k5xJh9184GAAnFuxwkRzVbMhbxC1N+mvp7ZKTlORsNYxFy0Hk54Ieg=="
            ),
        ] as [(WebhookSignatureForm.HeaderSignature.Algorithm, WebhookSignatureForm.HeaderSignature.Encoding, String)])
    func headerSignatureHasItsHashAndEncoding(
        algorithm: WebhookSignatureForm.HeaderSignature.Algorithm,
        encoding: WebhookSignatureForm.HeaderSignature.Encoding, expected: String
    ) throws {
        let form = WebhookSignatureForm.header(
            .init(header: "X-Sig", encoding: encoding, algorithm: algorithm, prefix: ""))
        let secret = try #require(WebhookSignature.Secret("key", for: form))
        let headers = WebhookSignature.headers(form, id: "i", timestamp: 7, body: Array("abc".utf8), secrets: [secret])
        #expect(headers.last?.value == expected)
    }

    @Test(arguments: ["", "whsec_", "whsec_?", "whsec_AAA"])
    func malformedSecretIsRefused(text: String) {
        #expect(WebhookSignature.Secret(text) == nil)
    }
}
