internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import HTTPTransport
internal import Rules

/// Runs the checks that need the network. Skips checks that depend on a failed one.
struct GatewayInspection: Sendable {
    let url: GatewayURL
    let settings: GatewaySettings
    let channels: [String]?
    /// The selectors of all rules; nil if the rules are invalid or missing.
    let related: [LocatedSelector]?
    /// The writes of all rules; nil if the rules are invalid or missing.
    let writes: [LocatedWrite]?
    let following: FeedReader.FeedMode
    /// How long to wait for proxies that cut idle requests; nil: not at all.
    let idle: Duration?
    /// What to do if credentials are needed but missing.
    let advice: String
    let report: BotReport

    /// Long enough for Sync Gateway to load its caches.
    private static let deadline: Duration = .seconds(30)

    func run() async {
        guard let contact = await connect() else { return }
        await report.finish(.clock, contact.clock?.finding ?? Finding(.unknown, "the server's responses have no date"))
        var settings = settings
        settings.deadlines.small = Self.deadline
        settings.deadlines.silence = Self.deadline
        settings.deadlines.bulk = Self.deadline
        let gateway = Gateway(url, settings: settings)
        await inspect(gateway, contact)
        await gateway.shutdown()
    }

    /// Who logs in. Nil: the requests are anonymous.
    private var user: String? {
        settings.accessTokens == nil ? settings.credentials.map { "\($0)" } : "bearer token"
    }

    // MARK: - The connection

    /// Reports on the connection. Returns nil if the bot could not use it.
    private func connect() async -> ServerContact? {
        let tls = CertificateCheck(url: url, isInsecure: settings.tls.isInsecure, now: Timestamp.secondsNow)
        do throws(HTTPTransportError) {
            let contact = try await ServerContact.make(url, settings, trustsAnyone: false)
            await report.finish(.reachability, contact.finding)
            await report.finish(.tls, tls.findings(contact.connection.certificates, refusedWith: nil))
            return contact
        } catch {
            guard let problem = error.code.tlsProblem, problem != .notTLS, problem != .handshake else {
                await report.finish(.reachability, await finding(of: error))
                await report.skip([.tls] + DoctorCheck.gatewayChecks, "the gateway can't be reached")
                return nil
            }
            return await inspectCertificates(tls, refusedWith: error)
        }
    }

    /// Fetches the certificates that were refused, which is possible only without verification.
    private func inspectCertificates(
        _ tls: CertificateCheck, refusedWith error: HTTPTransportError
    ) async -> ServerContact? {
        let contact = try? await ServerContact.make(url, settings, trustsAnyone: true)
        await report.finish(.reachability, contact?.finding ?? .ok("the server accepts connections"))
        await report.finish(.tls, tls.findings(contact?.connection.certificates ?? [], refusedWith: error))
        guard settings.tls.isInsecure, let contact else {
            await report.skip(DoctorCheck.gatewayChecks, "there is no secure connection")
            return nil
        }
        return contact
    }

    /// Other connection failures may be caused by a wrong scheme, which the gateway client detects.
    private func finding(of error: HTTPTransportError) async -> Finding {
        // Plain CouchDB does not respond to a TLS handshake: it keeps waiting for the end of a request line.
        let isSilent = error.code.timeout != nil
        guard isSilent || [.connectionClosed, .malformedAnswer].contains(error.code) || error.code.tlsProblem != nil
        else {
            return Finding(.error, GatewayError(error))
        }
        let gateway = Gateway(url, settings: settings)
        let answer = await outcome { () async throws(GatewayError) in try await gateway.serverInfo() }
        await gateway.shutdown()
        if case .failure(let other) = answer { return Finding(.error, other) }
        return Finding(.error, GatewayError(error))
    }

    // MARK: - The gateway and the login

    private func inspect(_ gateway: Gateway, _ contact: ServerContact) async {
        let database = await outcome { () async throws(GatewayError) in try await gateway.databaseInfo() }
        if case .failure(let error) = database, error.code == .malformedAnswer {
            await report.finish(.gateway, Finding(.error, error))
            await report.skip(DoctorCheck.loginChecks, "the server is not a gateway")
            return
        }
        // If the password was refused, send no further request: some gateways lock users out.
        let greeting = (try? database.get()) == nil ? nil : try? await gateway.serverInfo()
        await report.finish(.gateway, version(greeting, contact))
        await report.finish(
            .login,
            PermissionChecks.login(database, as: user, advice: advice))
        guard case .success(let info) = database, info.isOnline else {
            await report.skip(DoctorCheck.afterLogin, "the database can't be used: see 'login'")
            return
        }
        await inspectPermissions(gateway, info)
    }

    private func version(_ greeting: ServerInfo?, _ contact: ServerContact) -> Finding {
        let check = ServerVersionCheck(url: url, givenDialect: settings.dialect)
        // A proxy may hide the root page, or replace the header with its own.
        let ofHeader = GatewayDialect(serverHeader: contact.server)
        return check.finding(
            dialect: greeting?.dialect ?? ofHeader,
            version: greeting?.version ?? (ofHeader == nil ? nil : contact.server))
    }

    private func inspectPermissions(_ gateway: Gateway, _ info: DatabaseInfo) async {
        let feed = await outcome { () async throws(GatewayError) in try await readFeed(gateway) }
        await report.finish(.feed, PermissionChecks.feed(feed))
        // The database exists, but this collection does not.
        if case .failure(let error) = feed, error.isAboutKeyspace {
            return await report.skip(DoctorCheck.afterLogin, "the collection can't be used")
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await report.finish(
                    .list,
                    PermissionChecks.list(await outcome { () async throws(GatewayError) in try await list(gateway) }))
            }
            group.addTask {
                let answer = await outcome { () async throws(GatewayError) in _ = try await gateway.bulkDocs([]) }
                await report.finish(.write, PermissionChecks.write(answer, to: gateway.dialect))
            }
            group.addTask {
                let document = LocalDocumentCheck(gateway: gateway)
                await report.finish(
                    .local, PermissionChecks.local(await document.run(), named: document.name))
            }
            let fit = DatabaseCompatibility(gateway: gateway, info: info, writes: writes ?? [])
            await report.finish(.ids, fit.idFindings(hasRules: writes != nil))
            group.addTask { await report.finish(.keyspaces, await fit.keyspaceFindings(hasRules: writes != nil)) }
            group.addTask {
                let check = ExpiryCheck(gateway: gateway, keepsExpiry: settings.keepsExpiry)
                let refused = fit.expiryFindings
                await report.finish(.expiry, refused.isEmpty ? [await check.finding()] : refused)
            }
            group.addTask { await report.finish(.channels, await inspectChannels(gateway)) }
            group.addTask {
                let check = IndexesCheck(gateway: gateway, info: info, selectors: related)
                await report.finish(.indexes, await check.findings())
            }
            group.addTask { await report.finish(.idle, await inspectIdleTime(gateway, info)) }
        }
    }

    private func readFeed(_ gateway: Gateway) async throws(GatewayError) {
        var answer = try await gateway.changes(
            ChangesRequest(includesDocuments: false, limit: 1, filter: channelFilter(gateway)))
        while try await answer.next() != nil {}
    }

    private func list(_ gateway: Gateway) async throws(GatewayError) {
        var answer = try await gateway.documents(limit: 1, includesDocuments: false)
        while try await answer.next() != nil {}
    }

    /// Only Sync Gateway supports the filter.
    private func channelFilter(_ gateway: Gateway) -> ChangesRequest.Filter? {
        gateway.dialect.hasChannels ? channels.map { .channels($0) } : nil
    }

    private func inspectChannels(_ gateway: Gateway) async -> Finding {
        let login = await outcome { () async throws(GatewayError) in try await gateway.loginInfo() }
        var isAdmin = false
        if gateway.dialect.hasChannels, (try? login.get())?.user == nil { isAdmin = await gateway.isAdminPort() }
        return PermissionChecks.channels(login, of: gateway.dialect, isAdmin: isAdmin, wanted: channels)
    }

    private func inspectIdleTime(_ gateway: Gateway, _ info: DatabaseInfo) async -> Finding {
        guard let idle else { return .skipped("--no-wait") }
        guard let newest = info.newestSequence else {
            return Finding(
                .unknown, "the gateway does not report its newest sequence, so this check can't wait for changes")
        }
        let check = IdleCheck(
            gateway: gateway, channels: gateway.dialect.hasChannels ? channels : nil, span: idle)
        return IdleCheck.finding(await check.wait(since: newest), span: idle, following)
    }
}

/// Turns the result or the error of a request into a `Result`.
func outcome<Value: Sendable>(
    _ ask: () async throws(GatewayError) -> Value
) async -> Result<Value, GatewayError> {
    do throws(GatewayError) { return .success(try await ask()) } catch { return .failure(error) }
}

/// Checks that local documents can be written, read and deleted. Leaves nothing behind.
struct LocalDocumentCheck: Sendable {
    let gateway: Gateway
    /// Differs from all marks, which begin with `changebot.`, and from the document of another doctor.
    let name = "changebot-doctor." + String(UInt64.random(in: .min ... .max), radix: 16)

    func run() async -> PermissionChecks.LocalOutcome {
        do throws(GatewayError) {
            let revision = try await gateway.saveLocalDocument(name, body: Array(#"{"from":"changebot doctor"}"#.utf8))
            do throws(GatewayError) { try await delete(revision) } catch { return .left(error) }
            return .keptAndDeleted
        } catch {
            // The write may have succeeded, with only its response lost.
            if let document = try? await gateway.localDocument(name) { try? await delete(document.revision) }
            return .refused(error)
        }
    }

    private func delete(_ written: RevisionID) async throws(GatewayError) {
        guard let document = try await gateway.localDocument(name) else {
            throw GatewayError(.notOffered, "the gateway has lost a local document that it had accepted")
        }
        try await gateway.deleteLocalDocument(name, revision: document.revision)
    }
}
