internal import AccessTokens
internal import ArgumentParser
internal import FoundationEssentials
internal import GatewayClient
internal import Rules
internal import Transfer

/// The gateway. Every command that talks to a gateway has this option and ``AccessOptions``.
///
/// Option groups are not nested: a debug build of the parser checks each level four times as often as the level above.
struct GatewayOptions: ParsableArguments {
    @Option(
        name: [.customShort("g"), .customLong("gateway")],
        help: ArgumentHelp(
            "The URL of the keyspace: http(s)://host:port[/prefix]/DATABASE or …/DATABASE.SCOPE.COLLECTION; or an embedded gateway: embedded: (in memory) or embedded:FILE.",
            valueName: "url"))
    var address: String?
}

/// The options for login and TLS.
struct AccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Trust the certificates in this file instead of the system's.", valueName: "file"),
        completion: .certificateFile)
    var caFile: String?

    @Option(
        help: ArgumentHelp("Show this certificate (PEM) to the gateway.", valueName: "file"),
        completion: .certificateFile)
    var certificateFile: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --certificate-file (PEM). Default: it is in the same file.", valueName: "file"),
        completion: .certificateFile)
    var keyFile: String?

    @Option(
        help: "How to authenticate: basic sends the password with each request, session logs in once. Default: basic.")
    var auth: AuthenticationForm?

    @Flag(help: "Accept any TLS certificate.")
    var insecure = false

    @Flag(
        help:
            "Keep the expiry (_exp) of documents that this command writes or exports. Costs one request for each of them."
    )
    var keepExpiry = false

    @Option(
        help: ArgumentHelp("sync-gateway or couchdb, if the server does not identify itself.", valueName: "name"),
        completion: .list(GatewayDialect.allCases.map(\.rawValue)))
    var dialect: String?
}

enum AuthenticationForm: String, CaseIterable, ExpressibleByArgument {
    case basic, session

    static let `default` = AuthenticationForm.basic
}

/// The gateway that a command talks to: a remote one, or one that runs inside this process.
enum GatewayChoice: Equatable {
    case remote(GatewayURL)
    /// Nil: in memory.
    case embedded(file: String?)

    /// - Parameter option: The option that names the gateway, for messages.
    /// - Throws: ``CommandError`` with 64 if the text is not an address.
    init(_ text: String?, option: String = "--gateway") throws(CommandError) {
        guard let text else {
            throw CommandError(.usage, "no gateway given: add --gateway URL, or set CHANGEBOT_GATEWAY")
        }
        if text.hasPrefix("embedded:") {
            let file = String(text.dropFirst("embedded:".count))
            self = .embedded(file: file.isEmpty ? nil : file)
            return
        }
        do throws(GatewayURLError) { self = .remote(try GatewayURL(text)) } catch {
            let scheme = text.prefix { $0 != ":" }
            let isTypo = scheme != text && NearestName.of(scheme.lowercased(), among: ["embedded"]) != nil
            guard isTypo else { throw CommandError(.usage, "\(option): \(error)") }
            let meant = "embedded" + text.dropFirst(scheme.count)
            throw CommandError(.usage, "\(option): '\(text)' is not a URL: did you mean '\(meant)'?")
        }
    }

    /// Identifies this gateway in the id of a replication.
    ///
    /// - Parameter user: The user's name; nil for an anonymous user or a token.
    func identity(user: String?) -> ReplicationID.End {
        switch self {
        case .remote(let url): ReplicationID.End(address: url.description, user: user)
        case .embedded: ReplicationID.End(address: stateAddress, user: nil)
        }
    }

    /// Checks that the file of an embedded gateway exists. For commands that only read.
    ///
    /// - Throws: ``CommandError`` with 66 if the file is missing.
    func requireFile() throws(CommandError) {
        guard case .embedded(let file?) = self else { return }
        try EmbeddedFileUse.existing.require(file)
    }
}

extension GatewayOptions {
    func choice(_ environment: Environment) throws(CommandError) -> GatewayChoice {
        try environment.checking("gateway", isFlag: address != nil) { () throws(CommandError) in
            let choice = try GatewayChoice(address ?? environment["gateway"])
            if address == nil, case .remote(let url) = choice, url.userInfo != nil,
                case .file? = environment.source(of: "gateway")
            {
                throw CommandError(
                    .usage,
                    "a secret does not belong in this file: remove the user from the URL, and add 'user' and 'password_file'"
                )
            }
            return choice
        }
    }
}

extension AccessOptions {
    /// Whether to read the expiry of documents, so that writing them does not clear it.
    func keepsExpiry(_ environment: Environment) throws(CommandError) -> Bool {
        try environment.isOn(keepExpiry, "keep-expiry")
    }

    /// The certificate that the gateway is shown. Nil if none is set.
    ///
    /// - Throws: ``CommandError``, also if the gateway's URL begins with `http://`.
    private func clientCertificate(
        for url: GatewayURL, _ environment: Environment
    ) throws(CommandError) -> ClientCertificateFiles? {
        guard let files = try ClientCertificateFiles(self, environment) else { return nil }
        // The two gateways of a replication may share the option.
        guard url.base.hasPrefix("https://") || environment.isForOneSide else {
            throw environment.contradiction(
                certificateFile == nil ? ["certificate-file"] : [],
                "a certificate has no meaning with http://: write https:// in the gateway's URL, or remove "
                    + (certificateFile == nil ? environment.naming("certificate-file") : "--certificate-file"))
        }
        return files
    }

    /// The files of these settings that only the bot should be able to read.
    ///
    /// - Throws: ``CommandError``, as ``settings(for:_:)``.
    func confidentialFiles(_ environment: Environment) throws(CommandError) -> [SecretFile] {
        let key = try ClientCertificateFiles(self, environment).map { files in
            SecretFile(path: files.keyFile, what: "private key", setting: environment.naming("key-file"))
        }
        return [try Credentials(environment).file, key].compactMap(\.self)
    }

    /// The source of this process for the access tokens that the settings describe. Nil: they describe none.
    ///
    /// - Parameter noteFailure: Called if a token that is still used can't be renewed.
    /// - Throws: ``CommandError``, as ``settings(for:_:)``.
    func accessTokens(
        _ environment: Environment, noteFailure: @escaping @Sendable (TokenError) -> Void = { _ in }
    ) throws(CommandError) -> AccessTokenSource? {
        guard let method = try Credentials(environment).tokenMethod() else { return nil }
        return .shared(method, userAgent: "changebot/\(Changebot.version)", noteFailure: noteFailure)
    }

    /// - Throws: ``CommandError`` with 64 for contradictory options, 66 for a file that can't be read, 78 for a
    ///   `--ca-file` without a certificate.
    func settings(for url: GatewayURL, _ environment: Environment) throws(CommandError) -> GatewaySettings {
        var settings = GatewaySettings()
        let given = try Credentials(environment)
        let credentials = try given.read()
        let renews = try given.tokenMethod() != nil
        guard !renews && credentials == nil || url.userInfo == nil else {
            throw environment.contradiction(
                given.settings, "credentials are given in the URL and as \(given.name): remove one")
        }
        settings.credentials = credentials ?? url.userInfo
        let form = try environment.value(auth, "auth", parse: AuthenticationForm.init(rawValue:)) ?? .default
        settings.usesSession = form == .session
        if settings.usesSession {
            guard case .basic? = settings.credentials else {
                let name = auth == nil && environment.isInFile("auth") ? "'auth: session'" : "--auth session"
                throw environment.contradiction(
                    auth == nil ? ["auth"] : [],
                    "\(name) needs a user and a password: \(Credentials.advice(environment, allowsToken: false))")
            }
        }
        settings.credentialsSource = try given.source()
        settings.tls.caFile = try environment.checking("ca-file", isFlag: caFile != nil) { () throws(CommandError) in
            try (caFile ?? environment["ca-file"]).map { path throws(CommandError) in
                try AuthorityFile.checked(path, option: "ca-file")
            }
        }
        settings.tls.clientCertificate = try clientCertificate(for: url, environment)?.certificate
        settings.keepsExpiry = try keepsExpiry(environment)
        settings.tls.isInsecure = try environment.isOn(insecure, "insecure")
        settings.dialect = try environment.parsed(dialect, "dialect", parse: GatewayDialect.init(rawValue:))
        settings.userAgent = "changebot/\(Changebot.version)"
        return settings
    }
}
