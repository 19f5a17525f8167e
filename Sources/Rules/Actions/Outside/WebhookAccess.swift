/// A webhook's receiver and credentials. Independent of the document; rules with the same access share connections and
/// limits.
package struct WebhookAccess: Sendable, Hashable {
    /// Scheme, host and port, without a slash at the end: `https://example.org:8443`.
    package let origin: String
    /// One or two files with secrets, the current one first. Empty: unsigned.
    package let secretFiles: [String]
    /// How the secrets sign.
    package let signature: WebhookSignatureForm
    /// A file with a bearer token.
    package let tokenFile: String?
    /// Where access tokens come from that are renewed.
    package let tokens: RenewedTokens?
    /// For basic authentication, together with ``passwordFile``.
    package let user: String?
    /// A file with the password of ``user``.
    package let passwordFile: String?
    /// Headers whose values are in files, such as API keys, in the order of the rule file.
    package let headerFiles: [HeaderFile]
    /// A PEM file with the authorities to trust instead of the system's.
    package let caFile: String?
    /// A PEM file with the bot's own certificate.
    package let certificateFile: String?
    /// The PEM file with the certificate's key. Nil if the certificate's file contains the key.
    package let keyFile: String?

    /// A header whose value is in a file.
    package struct HeaderFile: Sendable, Hashable {
        /// As in the rule file.
        package let name: String
        package let path: String
    }

    /// All files that the access names.
    package var files: OutsideFiles {
        let certificates = [
            caFile.map { CertificateFile($0, .authorities) },
            certificateFile.map { CertificateFile($0, .own(key: keyFile ?? $0)) },
        ]
        let logins = [tokenFile.map { SecretFile($0, .token) }, passwordFile.map { SecretFile($0, .password) }]
        var files = OutsideFiles(
            secrets: secretFiles.map { SecretFile($0, signature.secretKind) } + logins.compactMap(\.self)
                + headerFiles.map { SecretFile($0.path, .header) },
            certificates: certificates.compactMap(\.self))
        if let tokens { files.add(tokens.files) }
        return files
    }
}

extension WebhookAccess {
    static let keys =
        [
            "secret_files", "signature", "token_file", "user", "password_file", "ca_file", "certificate_file",
            "key_file",
        ] + RenewedTokens.keys

    /// Nil, with errors, if keys contradict each other or a value is wrong. Reads no file: a rule's author need not
    /// have the secrets.
    ///
    /// - Parameters:
    ///   - headers: The rule's own headers.
    ///   - body: Some kinds set headers themselves.
    init?(
        _ object: SourceObject, origin: String, _ headers: WebhookHeaders, _ body: WebhookBody.Kind,
        _ reading: RuleReading
    ) {
        let errors = reading.errors
        let before = errors.errors.count
        let folder = RulePath.folder(of: errors.path)
        func path(_ name: String) -> String? { object.optionalText(name).map { RulePath.join(folder, $0) } }
        self.origin = origin
        secretFiles = Self.secretFiles(object).map { RulePath.join(folder, $0) }
        signature = WebhookSignatureForm(object, body)
        tokenFile = path("token_file")
        tokens = RenewedTokens(object)
        user = object.optionalText("user")
        passwordFile = path("password_file")
        caFile = path("ca_file")
        certificateFile = path("certificate_file")
        keyFile = path("key_file")
        headerFiles = headers.files.map { HeaderFile(name: $0.name, path: RulePath.join(folder, $0.path)) }
        check(object, headers)
        guard errors.errors.count == before else { return nil }
    }

    /// Reports keys that contradict each other.
    private func check(_ object: SourceObject, _ headers: WebhookHeaders) {
        func refuse(_ name: String, _ message: String) {
            if let node = object.node(name) { object.errors.report(at: node.position, message) }
        }
        if object.node("password_file") == nil { refuse("user", "'user' needs a password; add password_file: PATH") }
        if object.node("user") == nil { refuse("password_file", "'password_file' needs a user; add user: NAME") }
        if let key = RenewedTokens.keys.first(where: { object.node($0) != nil }) {
            for name in ["token_file", "user"] {
                refuse(name, "'\(name)' and '\(key)' are two ways to log in; remove one")
            }
        }
        if tokenFile != nil { refuse("user", "'user' and 'token_file' are two ways to log in; remove one") }
        if let user, user.contains(":") { refuse("user", "'user' can't contain ':' (RFC 7617); remove it") }
        if certificateFile == nil {
            refuse("key_file", "'key_file' is the key of a certificate; add certificate_file: PATH")
        }
        if let name = signature.headerName, secretFiles.count > 1 {
            refuse(
                "secret_files",
                "the header '\(name)' holds one signature: name one file; to change the secret, replace its content")
        }
        if let name = signature.headerName, headers.contains(name) {
            refuse("signature", "the header '\(name)' is given too; remove it from 'headers'")
        }
        if headers.contains("authorization") || signature.headerName == "authorization" {
            for name in ["token_file", "user"] + RenewedTokens.keys {
                refuse(name, "the header Authorization is given too; remove one of them")
            }
        }
        if origin.hasPrefix("http://") {
            for name in ["ca_file", "certificate_file"] {
                refuse(name, "'\(name)' has no meaning with http://; write https://")
            }
        }
    }

    private static func secretFiles(_ object: SourceObject) -> [String] {
        guard let node = object.node("secret_files") else { return [] }
        if let path = node.text { return [path] }
        guard case .list(let elements) = node.content, (1...2).contains(elements.count) else {
            object.errors.report(
                at: node.position,
                "'secret_files' must be a list with one path, or two while a secret is replaced; correct it")
            return []
        }
        return elements.compactMap { element in
            if element.text == nil {
                object.errors.reportKind(of: element, "a path must be text", remedy: "put it in quotes")
            }
            return element.text
        }
    }
}
