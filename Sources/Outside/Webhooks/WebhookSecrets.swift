internal import HTTPTransport
internal import Rules

/// The current contents of a webhook's secret files.
struct WebhookSecrets: Sendable {
    let signing: [WebhookSignature.Secret]
    let credentials: HTTPCredentials?
    let headers: [(name: String, value: String)]

    init(of access: WebhookAccess, _ contents: SecretContents) {
        func text(_ path: String, _ kind: SecretFile.Kind) -> String { contents.text(SecretFile(path, kind)) }
        let form = access.signature
        signing = access.secretFiles.compactMap { WebhookSignature.Secret(text($0, form.secretKind), for: form) }
        headers = access.headerFiles.map { ($0.name, text($0.path, .header)) }
        if let path = access.tokenFile {
            credentials = .bearer(token: text(path, .token))
        } else if let user = access.user, let path = access.passwordFile {
            credentials = .basic(user: user, password: text(path, .password))
        } else {
            credentials = nil
        }
    }
}
