internal import Encodings

/// The signature of a webhook, by the Standard Webhooks scheme.
///
/// - Note: Source: Standard Webhooks 1.0.0, `spec/standard-webhooks.md`.
enum WebhookSignature {
    /// A secret of the symmetric scheme.
    struct Secret: Sendable, Equatable {
        let bytes: [UInt8]

        /// `whsec_` and base64; the prefix may be missing. Nil if it is not base64, or empty.
        init?(_ text: String) {
            let prefix = "whsec_"
            let digits = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
            guard let bytes = try? Base64.decode(Array(digits.utf8)), !bytes.isEmpty else { return nil }
            self.bytes = bytes
        }
    }

    /// `webhook-id`, `webhook-timestamp` and, if there are secrets, `webhook-signature`.
    ///
    /// - Parameters:
    ///   - id: The same for all attempts at one event.
    ///   - timestamp: The time of this attempt, in seconds since 1970: receivers refuse old ones.
    ///   - body: The bytes as they are sent.
    ///   - secrets: One signature is made with each, so that a secret can be replaced without downtime.
    static func headers(
        id: String, timestamp: Int, body: [UInt8], secrets: [Secret]
    ) -> [(name: String, value: String)] {
        var headers = [("webhook-id", id), ("webhook-timestamp", String(timestamp))]
        guard !secrets.isEmpty else { return headers }
        let message = Array("\(id).\(timestamp).".utf8) + body
        let signatures = secrets.map { secret in
            "v1," + Base64.text(MessageAuthentication.hmacSHA256(message, key: secret.bytes))
        }
        headers.append(("webhook-signature", signatures.joined(separator: " ")))
        return headers
    }
}
