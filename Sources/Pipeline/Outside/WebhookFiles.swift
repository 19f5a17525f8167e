internal import DocumentFlow
internal import HTTPTransport
internal import Locking
internal import Logging
internal import Rules

/// The files that webhooks need: secrets, and certificates, for which there is a client each.
final class WebhookFiles: Sendable {
    /// What a request needs of its access's files.
    struct Secrets: Sendable {
        var signing: [WebhookSignature.Secret] = []
        var credentials: HTTPCredentials?
        var headers: [(name: String, value: String)] = []
    }

    /// Which files a client's connections use.
    private struct TLSFiles: Hashable {
        let ca: String?
        let certificate: String?
        let key: String?

        init(_ access: WebhookAccess) {
            (ca, certificate, key) = (access.caFile, access.certificateFile, access.keyFile)
        }

        var versions: [SecretContent.Version?] {
            [ca, certificate, key].map { path in path.flatMap { SecretContent.Version(of: $0) } }
        }
    }

    private struct State {
        var contents: [String: SecretContent] = [:]
        var clients: [TLSFiles: (client: HTTPClient, versions: [SecretContent.Version?])] = [:]
        /// Changed files that can't be used: logged once each.
        var complained: Set<String> = []
    }

    private let state = Locked(State())
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Reads the files of all webhooks, at the start of a run.
    ///
    /// - Parameter warns: Whether to log files that every user may read.
    /// - Throws: `RunError` with `.badConfiguration` if one can't be used.
    func check(_ accesses: [WebhookAccess], warns: Bool) throws(RunError) {
        var seen: Set<String> = []
        do throws(SecretContent.Unusable) {
            for access in accesses {
                for (path, what) in access.secrets {
                    let content = try SecretContent(path, what: what)
                    if what == "secret", WebhookSignature.Secret(content.text) == nil {
                        throw SecretContent.Unusable(message: Self.noSecret(path))
                    }
                    state.withLock { $0.contents[path] = content }
                    if warns, seen.insert(path).inserted, SecretContent.isExposed(path) {
                        logger.warning(
                            "every user of this machine can read this file with a \(what): take the right away with chmod o-r",
                            metadata: [LogKey.file: "\(path)"])
                    }
                }
                for path in [access.caFile, access.certificateFile, access.keyFile].compactMap(\.self) {
                    try Self.checkCertificate(path)
                }
            }
        } catch {
            throw RunError(.badConfiguration, error.message)
        }
    }

    private static func noSecret(_ path: String) -> String {
        "the secret file \(path) of a webhook must hold whsec_ and base64; make a secret with: "
            + "(printf whsec_; openssl rand -base64 32) > FILE"
    }

    /// The content is checked by the TLS library when it connects.
    private static func checkCertificate(_ path: String) throws(SecretContent.Unusable) {
        guard SecretContent.isReadable(path) else {
            throw SecretContent.Unusable(
                message: "can't read the certificate or key file \(path) of a webhook; correct the path in the rule "
                    + "file, or the permissions")
        }
    }

    /// The secrets as they are now. A changed file that can't be used is logged, and its earlier content still counts.
    func secrets(of access: WebhookAccess) -> Secrets {
        var secrets = Secrets()
        secrets.signing = access.secretFiles.compactMap { WebhookSignature.Secret(text($0, "secret")) }
        if let path = access.tokenFile { secrets.credentials = .bearer(token: text(path, "token")) }
        if let user = access.user, let path = access.passwordFile {
            secrets.credentials = .basic(user: user, password: text(path, "password"))
        }
        secrets.headers = access.headerFiles.map { ($0.name, text($0.path, "header")) }
        return secrets
    }

    private func text(_ path: String, _ what: String) -> String {
        let known = state.withLock { $0.contents[path] }
        if let known, SecretContent.Version(of: path) == known.version { return known.text }
        do throws(SecretContent.Unusable) {
            let content = try SecretContent(path, what: what)
            if what == "secret", WebhookSignature.Secret(content.text) == nil {
                throw SecretContent.Unusable(message: Self.noSecret(path))
            }
            state.withLock { state in
                state.contents[path] = content
                state.complained.remove(path)
            }
            return content.text
        } catch {
            let isNew = state.withLock { $0.complained.insert(path).inserted }
            if isNew {
                logger.warning(
                    "a file of a webhook has changed and can't be used; its earlier content is used",
                    metadata: [LogKey.reason: "\(error.message)"])
            }
            return known?.text ?? ""
        }
    }

    /// The client with the right certificates. A new one after their files have changed.
    func client(for access: WebhookAccess) -> HTTPClient {
        let files = TLSFiles(access)
        let versions = files.versions
        return state.withLock { state in
            if let known = state.clients[files], known.versions == versions { return known.client }
            var configuration = HTTPClientConfiguration()
            configuration.tls.caFile = access.caFile
            configuration.tls.certificateFile = access.certificateFile
            configuration.tls.keyFile = access.keyFile
            configuration.userAgent = "changebot/" + ProgramVersion.current
            configuration.bodies.highWaterMark = 64 << 10
            configuration.bodies.headerLimit = 64 << 10
            let client = HTTPClient(configuration: configuration)
            state.clients[files] = (client, versions)
            return client
        }
    }
}
