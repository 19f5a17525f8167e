internal import FoundationEssentials
internal import GatewayClient
internal import Glibc

/// Credentials from the environment or the configuration file. There are no options for them, because every user of the
/// machine can see argv. Secrets are never written in the configuration file itself.
struct Credentials {
    /// What to do if credentials are missing.
    static func advice(_ environment: Environment) -> String {
        guard let file = environment.configurationPath, !environment.isOfOneSide else {
            let names = ["user", "password", "token"].map(environment.naming)
            return "set \(names[0]) and \(names[1]), or \(names[2])"
        }
        return "write 'user' and 'password_file', or 'token_file', in \(file)"
    }

    private static let passwords = ["password", "password-file", "password-credential"]
    private static let tokens = ["token", "token-file", "token-credential"]
    /// All settings that provide credentials.
    static let options = ["user"] + passwords + tokens

    private let environment: Environment
    private let user: String?
    /// The setting that provides the password or token; nil without credentials.
    private let secret: String?

    /// - Throws: ``CommandError`` with 64, or 78 in a file, if settings contradict each other or one is missing.
    init(_ environment: Environment) throws(CommandError) {
        let environment = environment.together(Self.options)
        self.environment = environment
        user = environment["user"]
        let given = Self.options.filter { environment[$0] != nil }
        let secrets = given.filter { $0 != "user" }
        secret = secrets.first
        func names(_ options: [String]) -> [String] { options.map(environment.naming) }
        if let token = given.first(where: Self.tokens.contains), let other = given.first(where: { $0 != token }) {
            let names = names([token, other])
            throw environment.contradiction([token, other], "\(names[0]) and \(names[1]) are both set: unset one")
        }
        if secrets.count > 1 {
            let names = names(secrets)
            throw environment.contradiction(secrets, "\(names[0]) and \(names[1]) are both set: unset one")
        }
        if let user, user.contains(":") {
            let names = names(["user", "password"])
            throw environment.contradiction(
                ["user"],
                "\(names[0]) can't contain ':' (RFC 7617): write only the user there, and the password in \(names[1])"
            )
        }
        if secret == nil, user != nil {
            let names = names(["user", "password", "password-file"])
            throw environment.contradiction(
                ["user"],
                "\(names[0]) is set, but no password is: set \(names[1]) or \(names[2]) too, or unset \(names[0])")
        }
        if let secret, user == nil, Self.passwords.contains(secret) {
            throw environment.contradiction(
                [secret],
                "a password is set, but no user: set \(names(["user"])[0]) too, or unset the password")
        }
    }

    /// The name of the setting that provides the password or token, for messages.
    var name: String { secret.map(environment.naming) ?? "" }

    /// - Returns: Nil without credentials.
    /// - Throws: ``CommandError`` with 66 if the file with the secret can't be read.
    func read() throws(CommandError) -> GatewayCredentials? {
        guard let secret else { return nil }
        let text = if let file = try file { try file.read() } else { environment[secret] ?? "" }
        return user.map { .basic(user: $0, password: text) } ?? .bearer(token: text)
    }

    /// A function that reads the secret's file again at each call, because it may have changed. Nil without a file.
    func source() throws(CommandError) -> (@Sendable () throws -> GatewayCredentials?)? {
        guard let file = try file else { return nil }
        return { [user] in
            let text = try file.read()
            return user.map { .basic(user: $0, password: text) } ?? .bearer(token: text)
        }
    }

    /// The file with the secret; nil if there is none.
    var file: SecretFile? {
        get throws(CommandError) {
            guard let secret, let text = environment[secret] else { return nil }
            let (name, place) = (environment.naming(secret), environment.place(of: secret))
            switch secret {
            case "password-file": return SecretFile(path: text, what: "password", setting: name, place: place)
            case "token-file": return SecretFile(path: text, what: "token", setting: name, place: place)
            case "password-credential", "token-credential":
                let what = secret == "token-credential" ? "token" : "password"
                guard let folder = environment.variable("CREDENTIALS_DIRECTORY") else {
                    throw environment.contradiction(
                        [secret],
                        "\(name) names a systemd credential, but CREDENTIALS_DIRECTORY is not set: add LoadCredential=\(text.visible):PATH to the unit, or write the path of a file as \(environment.naming("\(what)-file"))"
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
            let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            let reason = isFolder ? ": it is a folder" : isThere ? "" : ": there is no such file"
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
