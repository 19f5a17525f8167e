internal import Encodings
internal import Rules

/// The signature of a webhook: by the Standard Webhooks scheme, or in one header.
///
/// - Note: Source: Standard Webhooks 1.0.0, `spec/standard-webhooks.md`.
enum WebhookSignature {
    /// A secret that sender and receiver share.
    struct Secret: Sendable, Equatable {
        let bytes: [UInt8]

        /// Nil if the text is no secret of this form.
        init?(_ text: String, for form: WebhookSignatureForm) {
            guard case .header = form else {
                self.init(text)
                return
            }
            guard !text.isEmpty else { return nil }
            self.init(bytes: Array(text.utf8))
        }

        private init(bytes: [UInt8]) { self.bytes = bytes }

        /// `whsec_` and base64; the prefix may be missing. Nil if it is not base64, or empty.
        init?(_ text: String) {
            let prefix = "whsec_"
            let digits = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
            guard let bytes = try? Base64.decode(Array(digits.utf8)), !bytes.isEmpty else { return nil }
            self.init(bytes: bytes)
        }
    }

    /// `webhook-id`, `webhook-timestamp` and, if there are secrets, `webhook-signature` or the header of the form.
    ///
    /// - Parameters:
    ///   - form: How the secrets sign.
    ///   - id: The same for all attempts at one event.
    ///   - timestamp: The time of this attempt, in seconds since 1970: receivers refuse old ones.
    ///   - body: The bytes as they are sent.
    ///   - secrets: One signature is made with each, so that a secret can be replaced without downtime.
    static func headers(
        _ form: WebhookSignatureForm = .standardWebhooks, id: String, timestamp: Int, body: [UInt8], secrets: [Secret]
    ) -> [(name: String, value: String)] {
        var headers = [("webhook-id", id), ("webhook-timestamp", String(timestamp))]
        guard let first = secrets.first else { return headers }
        if case .header(let signature) = form { return headers + [(signature.header, signature.value(body, first))] }
        let message = Array("\(id).\(timestamp).".utf8) + body
        let signatures = secrets.map { secret in
            "v1," + Base64.text(MessageAuthentication.hmacSHA256(message, key: secret.bytes))
        }
        headers.append(("webhook-signature", signatures.joined(separator: " ")))
        return headers
    }
}

extension WebhookSignatureForm.HeaderSignature {
    /// The value of the header.
    fileprivate func value(_ body: [UInt8], _ secret: WebhookSignature.Secret) -> String {
        let hash: MessageAuthentication.Hash =
            switch algorithm {
            case .sha1: .sha1
            case .sha256: .sha256
            case .sha512: .sha512
            }
        let code = MessageAuthentication.hmac(hash, body, key: secret.bytes)
        return prefix + (encoding == .hex ? code.hex : Base64.text(code))
    }
}
