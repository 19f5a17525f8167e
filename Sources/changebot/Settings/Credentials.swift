internal import AccessTokens
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc

/// Credentials from the environment or the configuration file. There are no options for them, because every user of the
/// machine can see argv. Secrets are never written in the configuration file itself.
struct Credentials {
    /// What to do if credentials are missing.
    static func advice(_ environment: Environment, allowsToken: Bool = true) -> String {
        guard let file = environment.configurationPath, !environment.isForOneSide else {
            let names = ["user", "password", "token"].map(environment.naming)
            return "set \(names[0]) and \(names[1])" + (allowsToken ? ", or \(names[2])" : "")
        }
        return "write 'user' and 'password_file'\(allowsToken ? ", or 'token_file'," : "") in \(file)"
    }

    private static let passwords = ["password", "password-file", "password-credential"]
    private static let tokens = ["token", "token-file", "token-credential"]
    /// All settings that provide credentials.
    static let options = ["user"] + passwords + tokens + TokenSettings.options

    private let environment: Environment
    private let user: String?
    /// The setting that provides the password, token, client secret or API key; nil without one.
    private let secret: String?
    private let renewed: TokenSettings
    /// The settings that are given: those among ``options``.
    let settings: [String]

    /// - Throws: ``CommandError`` with 64, or 78 in a file, if settings contradict each other or one is missing.
    init(_ environment: Environment) throws(CommandError) {
        let all = environment
        let environment = environment.together(Self.options)
        self.environment = environment
        user = environment["user"]
        settings = Self.options.filter { environment[$0] != nil }
        let secrets = settings.filter { (Self.passwords + Self.tokens).contains($0) }
        if let renewed = settings.first(where: TokenSettings.options.contains) {
            if let other = settings.first(where: { !TokenSettings.options.contains($0) }) {
                throw Self.bothAreSet([other, renewed], environment)
            }
        }
        renewed = try TokenSettings(environment)
        secret = secrets.first ?? renewed.secret
        if let token = settings.first(where: Self.tokens.contains), let other = settings.first(where: { $0 != token }) {
            throw Self.bothAreSet([token, other], environment)
        }
        if secrets.count > 1 { throw Self.bothAreSet(secrets, environment) }
        if let user, user.contains(":") {
            let password =
                environment.isInFile("user")
                ? "the file that 'password_file' names" : environment.naming("password")
            throw environment.contradiction(
                ["user"],
                "\(environment.naming("user")) can't contain ':' (RFC 7617): write only the user there, and the password in "
                    + password)
        }
        if secret == nil, user != nil { throw Self.missing("password", beside: "user", environment, all) }
        if let secret, user == nil, Self.passwords.contains(secret) {
            throw Self.missing("user", beside: secret, environment, all)
        }
    }

    private static func bothAreSet(_ options: [String], _ environment: Environment) -> CommandError {
        let names = options.map(environment.naming)
        return environment.contradiction(options, "\(names[0]) and \(names[1]) are both set: unset one")
    }

    /// The error that one of user and password is missing.
    ///
    /// - Parameter all: The settings with those of the file, which do not count if a variable is set.
    private static func missing(
        _ what: String, beside given: String, _ environment: Environment, _ all: Environment
    ) -> CommandError {
        let name = environment.naming(given)
        var message =
            given == "user" ? "\(name) is set, but no password is: " : "\(name) is set, but no user is: "
        if environment.isInFile(given) {
            message +=
                what == "user"
                ? "write 'user: NAME' next to it, or remove it"
                : "write 'password_file: PATH' next to it, with the path of a file that holds the password, or remove it"
        } else {
            let names = (what == "user" ? ["user"] : ["password", "password-file"]).map(environment.naming)
            message += "set \(names.joined(separator: " or ")) too, or unset \(name)"
            if let path = all.configurationPath, options.contains(where: all.isInFile) {
                message += "; if a variable is set, the credentials in \(path) are ignored"
            }
        }
        return environment.contradiction([given], message)
    }

    /// The name of the setting that provides the password or token, for messages.
    var name: String { (secret ?? renewed.first).map(environment.naming) ?? "" }

    /// How access tokens are obtained that are renewed. Nil: there are other credentials, or none.
    ///
    /// - Throws: ``CommandError`` with 64, or 78 in a file, if a value is not valid; 66 if the file with the secret can't
    ///   be read.
    func tokenMethod() throws(CommandError) -> TokenMethod? {
        let file = try file
        guard let method = try renewed.method(file) else { return nil }
        _ = try file?.read()
        return method
    }

    /// - Returns: Nil without credentials.
    /// - Throws: ``CommandError`` with 66 if the file with the secret can't be read.
    func read() throws(CommandError) -> GatewayCredentials? {
        guard let secret, renewed.first == nil else { return nil }
        let text = if let file = try file { try file.read() } else { environment[secret] ?? "" }
        return user.map { .basic(user: $0, password: text) } ?? .bearer(token: text)
    }

    /// A function that reads the secret's file again at each call, because it may have changed. Nil without a file.
    func source() throws(CommandError) -> (@Sendable () throws -> GatewayCredentials?)? {
        guard renewed.first == nil, let file = try file else { return nil }
        return { [user] in
            let text = try file.read()
            return user.map { .basic(user: $0, password: text) } ?? .bearer(token: text)
        }
    }

    /// What a setting holds or names: `client secret` for `client-secret-file`.
    private static func description(of secret: String) -> String {
        if secret.hasPrefix("api-key") { return "API key" }
        if secret.hasPrefix("client-secret") { return "client secret" }
        return secret.hasPrefix("token") ? "token" : "password"
    }

    /// The file with the secret; nil if there is none.
    var file: SecretFile? {
        get throws(CommandError) {
            guard let secret, let text = environment[secret] else { return nil }
            let (name, place) = (environment.naming(secret), environment.place(of: secret))
            let what = Self.description(of: secret)
            switch secret {
            case _ where secret.hasSuffix("-file"):
                return SecretFile(path: text, what: what, setting: name, place: place)
            case _ where secret.hasSuffix("-credential"):
                guard let folder = environment.variable("CREDENTIALS_DIRECTORY") else {
                    throw environment.contradiction(
                        [secret],
                        "\(name) names a systemd credential, but CREDENTIALS_DIRECTORY is not set: add LoadCredential=\(text.visible):PATH to the unit, or write the path of a file as \(environment.naming(secret.dropLast("credential".count) + "file"))"
                    )
                }
                guard !text.contains("/"), text != ".." else {
                    throw environment.contradiction([secret], "\(name) is the name of a credential, without '/'")
                }
                return SecretFile(path: folder + "/" + text, what: what, setting: name, place: place)
            default: return nil
            }
        }
    }
}

/// A file that holds a password or a token.
struct SecretFile: Sendable {
    let path: String
    let what: String
    /// The setting that names it, for messages.
    let setting: String
    /// Where the setting is in the configuration file; nil if it is elsewhere.
    var place: String?

    /// The content of the file without a trailing line break.
    ///
    /// - Throws: ``CommandError`` with 66 if it can't be read, is empty, or is not UTF-8.
    func read() throws(CommandError) -> String {
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            var isFolder = false
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            let reason = isFolder ? ": it is a folder" : exists ? "" : ": there is no such file"
            throw unusable(
                "can't read the \(what) file \(path) (\(setting))\(reason); correct the path or its permissions")
        }
        guard var text = String(data: bytes, encoding: .utf8) else {
            throw unusable("the \(what) file \(path) (\(setting)) is not UTF-8; save it as UTF-8")
        }
        if text.utf8.last == UInt8(ascii: "\n") { text = String(text.unicodeScalars.dropLast()) }
        if text.utf8.last == UInt8(ascii: "\r") { text = String(text.unicodeScalars.dropLast()) }
        guard !text.isEmpty else {
            throw unusable("the \(what) file \(path) (\(setting)) is empty; write the \(what) into it")
        }
        return text
    }

    private func unusable(_ message: String) -> CommandError {
        CommandError(
            .missingInput, listing: [(place.map { "\($0): " } ?? "") + message], isListing: place != nil)
    }

    /// Whether every user of this machine can read it.
    var isExposed: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & S_IROTH != 0
    }
}
