internal import AccessTokens
internal import HTTPTransport
internal import Locking
internal import LosslessJSON

/// The authorization of one request.
enum Authorization {
    case credentials(GatewayCredentials?)
    case session(GatewaySession)
    case token(AccessToken)
}

extension Gateway {
    /// A session if the settings require one and there is a password; otherwise the current credentials.
    func authorization() async throws(GatewayError) -> Authorization {
        if let token = try await accessToken() { return .token(token) }
        let credentials = try currentCredentials()
        do throws(GatewayError) { return try await authorization(of: credentials) } catch {
            // The login was refused. The password may have changed since it was read.
            guard error.status == 401, let others = try self.credentials(insteadOf: credentials) else { throw error }
            return try await authorization(of: others)
        }
    }

    /// The authorization to try after a 401; nil if there is no other. Sending the same password again would only count
    /// as another failed login.
    func authorization(insteadOf refused: Authorization) async throws(GatewayError) -> Authorization? {
        switch refused {
        case .token(let token): return try await accessToken(insteadOf: token).map { .token($0) }
        case .credentials(let credentials): return try self.credentials(insteadOf: credentials).map { .credentials($0) }
        case .session(let session):
            sessions.withLock { sessions in
                if sessions[sessionPlace]?.cookie == session.cookie { sessions[sessionPlace] = nil }
            }
            return try await authorization()
        }
    }

    private func currentCredentials() throws(GatewayError) -> GatewayCredentials? {
        do { return try settings.credentialsSource?() ?? settings.credentials } catch {
            throw GatewayError(.unauthorized, "\(url): the credentials can't be read: \(error)")
        }
    }

    /// The source's current credentials; nil if they are still the refused ones, or if there is no source.
    private func credentials(insteadOf refused: GatewayCredentials?) throws(GatewayError) -> GatewayCredentials? {
        guard settings.credentialsSource != nil, let credentials = try currentCredentials() else { return nil }
        return credentials == refused ? nil : credentials
    }

    private func authorization(of credentials: GatewayCredentials?) async throws(GatewayError) -> Authorization {
        guard settings.usesSession, case .basic(let name, let password)? = credentials else {
            return .credentials(credentials)
        }
        if let session = sessions.withLock({ $0[sessionPlace] }), session.owner == credentials,
            session.renewal > settings.process.now()
        {
            return .session(session)
        }
        return .session(try await logIn(name, password))
    }

    /// Stores the session if an answer renews its cookie.
    func noteRenewal(_ headers: HTTPHeaders, of authorization: Authorization) {
        guard case .session(let old) = authorization,
            let session = old.renewed(by: headers.values(of: "Set-Cookie"), at: settings.process.now())
        else { return }
        sessions.withLock { $0[sessionPlace] = session }
    }

    /// - Throws: `.unauthorized` also if the gateway reports another user, or none.
    /// - Note: Source: `POST /{db}/_session` on Sync Gateway, `POST /_session` on CouchDB. The first answers
    ///   `{"userCtx":{"name"}}`, the second `{"name"}`.
    private func logIn(_ name: String, _ password: String) async throws(GatewayError) -> GatewaySession {
        if !knowsDialect {
            // The `Server` header of any answer shows the dialect.
            let greeting = GatewayRequest(place: .server(""), deadline: settings.deadlines.small)
            _ = try await send(greeting, as: .credentials(nil))
        }
        var body = JSONWriter()
        body.object { body in
            body.member("name", string: name)
            body.member("password", string: password)
        }
        let began = settings.process.now()
        let request = GatewayRequest(
            method: "POST", place: dialect.hasSessionPerDatabase ? .database("_session") : .server("_session"),
            body: .json(body.bytes), deadline: settings.deadlines.small)
        let credentials = GatewayCredentials.basic(user: name, password: password)
        let exchange = try await sendWhileLoginsPass(request, as: .credentials(nil), testing: credentials)
        let response = exchange.response
        guard response.status == 200 else {
            var refusal = await refusal(response, to: request, sentAs: .credentials(credentials))
            if refusal.cause == .unknownDatabaseOrLogin, await isDatabaseKnown() {
                refusal = .wrongCredentials(refusedBy: url)
            }
            noteRefusedLogin(refusal, of: exchange)
            throw refusal
        }
        guard try await userName(of: response) == name,
            let session = GatewaySession(
                response.headers.values(of: "Set-Cookie"), of: credentials, at: began)
        else {
            throw GatewayError(
                .unauthorized, "\(url): the gateway did not create a session for this user; is the user disabled?")
        }
        sessions.withLock { $0[sessionPlace] = session }
        return session
    }

    /// The user of a new session; nil: none.
    private func userName(of response: HTTPResponse) async throws(GatewayError) -> String? {
        let answer: [UInt8]
        do throws(HTTPTransportError) { answer = try await response.body.collect(upTo: 1 << 20) } catch {
            throw GatewayError(error)
        }
        guard let json = SmallJSON(answer) else { throw .notJSON(answer, from: url) }
        return json["userCtx"]?["name"]?.string ?? json["name"]?.string
    }

    /// Whether the gateway has the database. The request is anonymous, so that it does not count as a failed login.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1: a refused login has no `WWW-Authenticate`, whether the database
    ///   exists or not. The 401 of a database that exists has it.
    private func isDatabaseKnown() async -> Bool {
        let request = GatewayRequest(place: .database(""), deadline: settings.deadlines.small)
        guard let response = try? await send(request, as: .credentials(nil)) else { return false }
        if response.status == 200 {
            _ = try? await response.body.collect(upTo: 64 << 10)
            return true
        }
        return await refusal(response, to: request, sentAs: .credentials(nil)).cause == .loginRequired
    }

    /// The user that the gateway recognizes, and what it may see.
    ///
    /// - Note: Source: `GET /{db}/_session` on Sync Gateway, `GET /_session` on CouchDB.
    package func loginInfo() async throws(GatewayError) -> LoginInfo {
        let answer = try await answer(
            GatewayRequest(
                place: dialect.hasSessionPerDatabase ? .database("_session") : .server("_session"),
                deadline: settings.deadlines.small))
        return LoginInfo(answer)
    }

    private var sessionPlace: String { dialect.hasSessionPerDatabase ? url.keyspace.database : "" }
}
