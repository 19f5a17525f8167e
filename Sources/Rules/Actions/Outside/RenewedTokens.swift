/// How a webhook or a download obtains access tokens that are renewed: from a token server, or from a command.
package struct RenewedTokens: Sendable, Hashable {
    package enum Method: Sendable, Hashable {
        /// OAuth 2 client credentials (RFC 6749, section 4.4).
        ///
        /// - Parameter isInBody: Whether the client sends its secret in the form instead of the header.
        case clientCredentials(
            url: String, clientID: String, secretFile: String, scope: String?, audience: String?, isInBody: Bool)
        /// An API key of IBM Cloud. Nil `url`: that of the public cloud.
        case apiKey(url: String?, keyFile: String)
        /// A program and its arguments, or one line for the shell.
        case command([String])
    }

    package let method: Method
    /// A PEM file with the authorities that the token server's certificate may have, instead of the system's.
    package let caFile: String?

    /// The client for which tokens are issued, without secrets.
    var client: String {
        switch method {
        case .clientCredentials(let url, let clientID, _, let scope, let audience, _):
            [url, clientID, scope ?? "", audience ?? ""].joined(separator: " ")
        case .apiKey(let url, let keyFile): "\(url ?? "") \(keyFile)"
        case .command(let words): words[0]
        }
    }

    /// All files that it names.
    var files: OutsideFiles {
        let secret: SecretFile? =
            switch method {
            case .clientCredentials(_, _, let path, _, _, _): SecretFile(path, .clientSecret)
            case .apiKey(_, let path): SecretFile(path, .apiKey)
            case .command: nil
            }
        return OutsideFiles(
            secrets: [secret].compactMap(\.self),
            certificates: [caFile.map { CertificateFile($0, .tokenAuthorities) }].compactMap(\.self))
    }
}

extension RenewedTokens {
    private static let clientKeys = ["client_id", "client_secret_file", "scope", "audience", "client_auth"]
    static let keys = ["token_url"] + clientKeys + ["api_key_file", "token_command", "token_ca_file"]

    /// Nil if the object has none of the keys, or, with errors, contradictory ones.
    init?(_ object: SourceObject) {
        let before = object.errors.errors.count
        let folder = RulePath.folder(of: object.errors.path)
        func path(_ name: String) -> String? { object.optionalText(name).map { RulePath.join(folder, $0) } }
        let present = Self.keys.filter { object.node($0) != nil }
        guard let first = present.first else { return nil }
        let url = Self.url(object)
        caFile = path("token_ca_file")
        if let node = object.node("token_command") {
            let words = Self.words(node, object, folder)
            Self.refuse(present.filter { $0 != "token_command" }, besides: "token_command", object)
            method = .command(words)
        } else if let keyFile = path("api_key_file") {
            Self.refuse(present.filter(Self.clientKeys.contains), besides: "api_key_file", object)
            method = .apiKey(url: url, keyFile: keyFile)
        } else {
            for name in ["token_url", "client_id", "client_secret_file"] where object.node(name) == nil {
                let message =
                    "'\(first)' needs '\(name)': OAuth client credentials have token_url, client_id and client_secret_file; "
                    + "add it, or remove '\(first)'"
                object.errors.report(at: object.node(first)?.position, message)
                return nil
            }
            method = .clientCredentials(
                url: url ?? "", clientID: object.optionalText("client_id") ?? "",
                secretFile: path("client_secret_file") ?? "", scope: object.optionalText("scope"),
                audience: object.optionalText("audience"), isInBody: Self.isInBody(object))
        }
        guard object.errors.errors.count == before else { return nil }
    }

    private static func refuse(_ names: [String], besides name: String, _ object: SourceObject) {
        for other in names {
            guard let node = object.node(other) else { continue }
            object.errors.report(
                at: node.position, "'\(name)' and '\(other)' are two ways to get a token; remove one")
        }
    }

    /// The URL of the token server, with its path and query.
    private static func url(_ object: SourceObject) -> String? {
        guard let text = object.optionalText("token_url"), let node = object.node("token_url") else { return nil }
        do throws(OutsideAddress.InvalidURL) {
            let address = try OutsideAddress(text)
            return address.origin + address.path
        } catch {
            object.errors.report(at: node.position, error.message.replacing("'url'", with: "'token_url'"))
            return nil
        }
    }

    private static func isInBody(_ object: SourceObject) -> Bool {
        guard let text = object.optionalText("client_auth"), let node = object.node("client_auth") else { return false }
        if !["basic", "body"].contains(text) {
            object.errors.report(
                at: node.position, "'client_auth' must be basic (the default) or body; write one of them")
        }
        return text == "body"
    }

    /// - Parameter folder: A program whose path is relative is found from here.
    private static func words(_ node: SourceNode, _ object: SourceObject, _ folder: String?) -> [String] {
        if let line = node.text, !line.isEmpty { return [line] }
        if case .list(let elements) = node.content {
            let words = elements.compactMap(\.text)
            if let program = words.first, !program.isEmpty, words.count == elements.count {
                return [program.contains("/") ? RulePath.join(folder, program) : program] + words.dropFirst()
            }
        }
        object.errors.report(
            at: node.position,
            "'token_command' must be a command line, or a list of a program and its arguments as text; correct it")
        return []
    }
}
