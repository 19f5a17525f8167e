import Testing

@testable import Outside

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

    @Test(arguments: ["", "whsec_", "whsec_?", "whsec_AAA"])
    func malformedSecretIsRefused(text: String) {
        #expect(WebhookSignature.Secret(text) == nil)
    }
}
