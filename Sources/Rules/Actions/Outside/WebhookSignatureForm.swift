/// How a webhook is signed: the key `signature`.
package enum WebhookSignatureForm: Sendable, Hashable {
    /// The scheme of Standard Webhooks, which signs the id, the time and the body.
    case standardWebhooks
    /// One header with a code of the body alone, as GitHub and many other services expect it.
    case header(HeaderSignature)

    /// A header with a keyed hash (HMAC) of the body.
    package struct HeaderSignature: Sendable, Hashable {
        /// How the bytes of the code are written.
        package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }
        /// The hash of the HMAC (RFC 2104).
        package enum Algorithm: String, Sendable, CaseIterable { case sha256, sha512, sha1 }

        /// As in the rule file.
        package let header: String
        package let encoding: Encoding
        package let algorithm: Algorithm
        /// The text before the code: `sha256=`. May be empty.
        package let prefix: String

        /// - Note: Source: GitHub Docs, "Validating webhook deliveries": `X-Hub-Signature-256`, hexadecimal after
        ///   `sha256=`.
        static let github = HeaderSignature(
            header: "X-Hub-Signature-256", encoding: .hex, algorithm: .sha256, prefix: "sha256=")
    }

    /// The name of the header, in lower case. Nil for Standard Webhooks.
    var headerName: String? {
        if case .header(let signature) = self { signature.header.lowercased() } else { nil }
    }

    /// What the files of `secret_files` contain.
    package var secretKind: SecretFile.Kind {
        switch self {
        case .standardWebhooks: .secret
        case .header: .signingSecret
        }
    }
}

extension WebhookSignatureForm {
    private static let names: [String: WebhookSignatureForm] = [
        "standard-webhooks": .standardWebhooks, "github": .header(.github),
    ]
    private static let keys = ["header", "encoding", "algorithm", "prefix"]

    /// Standard Webhooks without `signature`. Reports errors with their positions.
    init(_ object: SourceObject, _ body: WebhookBody.Kind) {
        self = .standardWebhooks
        guard let node = object.node("signature") else { return }
        if object.node("secret_files") == nil {
            object.errors.report(at: node.position, "'signature' needs a secret; add secret_files: [PATH]")
        }
        switch node.content {
        case .object:
            guard let header = Self.header(node, body, object.errors) else { return }
            self = .header(header)
        case .string(let text) where Self.names[text] != nil: self = Self.names[text] ?? self
        default:
            object.errors.report(
                at: node.position,
                "'signature' must be standard-webhooks (the default), github, or { header: NAME, encoding: hex }; write "
                    + "one of them")
        }
    }

    private static func header(
        _ node: SourceNode, _ body: WebhookBody.Kind, _ errors: SourceErrors
    ) -> HeaderSignature? {
        guard let object = SourceObject(node, "'signature'", known: keys, errors: errors),
            let name = object.requiredText("header", "name the header: header: X-Hub-Signature-256")
        else { return nil }
        if let error = WebhookHeaders.error(inName: name, body), let node = object.node("header") {
            errors.report(at: node.position, error)
        }
        let prefix = object.optionalText("prefix") ?? ""
        if !WebhookHeaders.isValid(prefix), let node = object.node("prefix") {
            errors.report(at: node.position, "a header can't contain line breaks or control characters")
        }
        return HeaderSignature(
            header: name, encoding: choice(object, "encoding", .hex), algorithm: choice(object, "algorithm", .sha256),
            prefix: prefix)
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ object: SourceObject, _ name: String, _ usual: Choice
    ) -> Choice {
        guard let text = object.optionalText(name), let node = object.node(name) else { return usual }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        object.errors.report(
            at: node.position, "'\(name)' must be one of \(names) (default \(usual.rawValue)); write one of them")
        return usual
    }
}
