internal import AccessTokens

/// The settings of access tokens that are renewed: OAuth 2 client credentials, an API key of IBM Cloud, or a command.
/// There are no options for them, as for other ``Credentials``.
struct TokenSettings {
    private static let clientSecrets = ["client-secret", "client-secret-file", "client-secret-credential"]
    private static let apiKeys = ["api-key", "api-key-file", "api-key-credential"]
    private static let client = ["client-id"] + clientSecrets + ["scope", "audience", "client-auth"]

    /// All settings, those with secrets included.
    static let options = ["token-url"] + client + apiKeys + ["token-command", "token-ca-file"]
    /// The settings that provide a secret.
    static let secrets = clientSecrets + apiKeys

    private let environment: Environment
    /// The settings that are given: those among ``options``.
    private let given: [String]
    /// The setting that provides the secret. Nil without one.
    let secret: String?

    /// - Throws: ``CommandError`` with 64, or 78 in a file, if settings contradict each other or one is missing.
    init(_ environment: Environment) throws(CommandError) {
        self.environment = environment
        given = Self.options.filter { environment[$0] != nil }
        let secrets = given.filter(Self.secrets.contains)
        secret = secrets.first
        if secrets.count > 1 { throw contradiction(secrets[0], secrets[1]) }
        if let command = first(of: ["token-command"]) {
            if let other = given.first(where: { $0 != command }) { throw contradiction(command, other) }
        } else if let key = first(of: Self.apiKeys) {
            if let other = first(of: Self.client) { throw contradiction(key, other) }
        } else if let first = given.first {
            for (name, others) in [
                ("token-url", []), ("client-id", []), ("client-secret-file", Self.clientSecrets),
            ] where !([name] + others).contains(where: given.contains) {
                throw missing(name, for: first)
            }
        }
    }

    /// The first of the settings that are given. Nil: none is.
    var first: String? { given.first }

    private func first(of options: [String]) -> String? { given.first(where: options.contains) }

    private func contradiction(_ one: String, _ other: String) -> CommandError {
        environment.contradiction(
            [one, other],
            "\(environment.naming(one)) and \(environment.naming(other)) are two ways to get a token: unset one")
    }

    private func missing(_ name: String, for first: String) -> CommandError {
        let what = environment.naming(name)
        return environment.contradiction(
            [first],
            "\(environment.naming(first)) is set, but \(what) is not: OAuth client credentials need token_url, client_id and "
                + "client_secret_file; set \(what), or unset \(environment.naming(first))")
    }

    /// How tokens are obtained. Nil: these settings are not used.
    ///
    /// - Parameter file: The file with the secret. Nil: the secret is a variable.
    /// - Throws: ``CommandError`` with 64, or 78 in a file, if a value is not valid.
    func method(_ file: SecretFile?) throws(CommandError) -> TokenMethod? {
        guard !given.isEmpty else { return nil }
        if let words = environment.values([], "token-command") { return .command(try Self.command(words)) }
        let secret = file.map { TokenSecret.file($0.path) } ?? .text(secret.flatMap { environment[$0] } ?? "")
        if first(of: Self.apiKeys) != nil {
            return .apiKey(TokenMethod.APIKey(server: try server(TokenMethod.APIKey.usualURL), key: secret))
        }
        let form = try environment.value(
            nil, "client-auth", parse: { TokenMethod.ClientCredentials.Form(rawValue: $0) })
        return .clientCredentials(
            TokenMethod.ClientCredentials(
                server: try server(nil), clientID: environment["client-id"] ?? "", secret: secret,
                scope: environment["scope"], audience: environment["audience"], form: form ?? .basic))
    }

    private func server(_ usual: String?) throws(CommandError) -> TokenServer {
        let url = environment["token-url"] ?? usual ?? ""
        let authorities = try environment.checking("token-ca-file", isFlag: false) { () throws(CommandError) in
            try environment["token-ca-file"].map { path throws(CommandError) in
                try AuthorityFile.checked(path, option: "token-ca-file")
            }
        }
        guard TokenServer.isValid(url) else {
            throw environment.contradiction(
                ["token-url"],
                "\(environment.naming("token-url")) must be a URL that begins with https:// or http://, without user, "
                    + "password and fragment")
        }
        return TokenServer(url: url, caFile: authorities)
    }

    /// A list is a program with its arguments; a text is a line for the shell.
    private static func command(_ words: [String]) throws(CommandError) -> TokenCommand {
        words.count == 1 ? TokenCommand(shell: words[0]) : TokenCommand(words)
    }
}
