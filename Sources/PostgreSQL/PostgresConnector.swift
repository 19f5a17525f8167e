internal import CPostgreSQL
internal import Glibc

/// Opens a connection within a deadline, trying one server after another. `connect_timeout` and libpq's own list of
/// hosts apply only to its blocking functions.
struct PostgresConnector {
    let library: cpostgresql_functions
    let address: PostgresAddress
    let password: String?
    let user: String?
    let settings: PostgresSettings

    func connect() throws(PostgresError) -> (OpaquePointer, PostgresAddress.Host) {
        let deadline = ContinuousClock.now + settings.deadline
        var errors: [PostgresError] = []
        for (number, host) in address.hosts.enumerated() {
            // An unresponsive server must leave time for the others.
            let end = share(of: deadline, among: address.hosts.count - number)
            do throws(PostgresError) {
                return (try connect(to: host, until: end), host)
            } catch {
                errors.append(error)
            }
        }
        throw Self.merged(errors)
    }

    private func connect(
        to host: PostgresAddress.Host, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> OpaquePointer {
        guard !host.isSocket else { return try connect(to: host, nil, until: deadline) }
        let places = try HostLookup.addresses(of: host.name, until: deadline, limit: settings.limit)
        var errors: [PostgresError] = []
        for (number, place) in places.enumerated() {
            do throws(PostgresError) {
                return try connect(to: host, place, until: share(of: deadline, among: places.count - number))
            } catch {
                errors.append(error)
            }
        }
        throw Self.merged(errors)
    }

    private func connect(
        to host: PostgresAddress.Host, _ place: String?, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> OpaquePointer {
        let parameters = parameters(for: host, place)
        guard let handle = Self.withCStrings(parameters, { library.PQconnectStartParams($0, $1, 0) }) else {
            throw .unavailable(reason: "\(host): no memory for a connection")
        }
        do throws(PostgresError) {
            _ = library.PQsetNoticeProcessor(handle, { _, _ in }, nil)
            // The verbose form contains the SQLSTATE, which libpq does not provide otherwise while connecting.
            _ = library.PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            try finish(handle, host, until: deadline)
            _ = library.PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            guard library.PQsetnonblocking(handle, 1) == 0 else { throw failure(handle, host) }
            return handle
        } catch {
            library.PQfinish(handle)
            throw error
        }
    }

    private func finish(
        _ handle: OpaquePointer, _ host: PostgresAddress.Host, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        guard library.PQstatus(handle) != CONNECTION_BAD else { throw failure(handle, host) }
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED else { throw failure(handle, host) }
            let events = Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            let ready = try SocketWait.wait(
                for: events, on: library.PQsocket(handle), until: deadline, limit: settings.limit)
            guard ready != 0 else {
                throw .unavailable(reason: "\(host): no answer within the connect timeout")
            }
            state = library.PQconnectPoll(handle)
        }
    }

    private func failure(_ handle: OpaquePointer, _ host: PostgresAddress.Host) -> PostgresError {
        PostgresError(connectingTo: host, message: library.PQerrorMessage(handle).map { String(cString: $0) } ?? "")
    }

    // MARK: - Several servers

    private func share(of deadline: ContinuousClock.Instant, among count: Int) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        return now + (deadline - now) / count
    }

    /// Uses the class of a retryable error, if there is one, and the reasons of all errors.
    private static func merged(_ errors: [PostgresError]) -> PostgresError {
        guard errors.count > 1 else { return errors.first ?? .unavailable(reason: "no host to connect to") }
        let reason = errors.map(\.reason).joined(separator: "; ")
        for error in errors {
            if case .unavailable(_, let state) = error { return .unavailable(reason: reason, sqlState: state) }
        }
        return .refused(reason: reason, sqlState: errors.first?.sqlState)
    }

    // MARK: - Parameters

    private func parameters(for host: PostgresAddress.Host, _ place: String?) -> [(String, String)] {
        let idle = max(1, settings.deadline.milliseconds / 1000)
        var parameters = [
            ("host", host.name), ("port", "\(host.port)"), ("dbname", address.database),
            ("sslmode", address.tlsMode.rawValue),
            ("target_session_attrs", "read-write"),
            // GSS encryption would replace TLS wherever Kerberos tickets exist, and takes time.
            ("gssencmode", "disable"),
            ("application_name", settings.applicationName), ("client_encoding", "UTF8"),
            ("options", settings.sessionOptions),
            ("connect_timeout", "\(max(2, idle))"),
            ("tcp_user_timeout", "\((settings.acknowledgementTimeout ?? settings.deadline).milliseconds)"),
            ("keepalives", "1"), ("keepalives_idle", "\(idle)"), ("keepalives_interval", "\(max(1, idle / 3))"),
            ("keepalives_count", "3"),
        ]
        if let place { parameters.append(("hostaddr", place)) }
        if let user = user ?? address.user { parameters.append(("user", user)) }
        if let password { parameters.append(("password", password)) }
        var options = address.options
        let authorities = options["sslrootcert"] ?? "system"
        options["sslrootcert"] = authorities == "system" ? PostgresAddress.systemAuthorities : authorities
        // With authorities, libpq would also verify in the weaker modes.
        let isVerified = address.tlsMode == .verifyFull || address.tlsMode == .verifyCA
        if address.options["sslrootcert"] == nil && !isVerified { options["sslrootcert"] = nil }
        // If a key occurs twice, libpq uses the last value.
        return parameters + options.map { ($0.key, $0.value) }
    }

    private static func withCStrings<Result>(
        _ pairs: [(String, String)],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let keys = pairs.map { UnsafePointer(strdup($0.0)) } + [nil]
        let values = pairs.map { UnsafePointer(strdup($0.1)) } + [nil]
        defer { for text in keys + values { free(UnsafeMutablePointer(mutating: text)) } }
        return keys.withUnsafeBufferPointer { keys in
            values.withUnsafeBufferPointer { values in
                guard let keys = keys.baseAddress, let values = values.baseAddress else {
                    preconditionFailure("both end with nil")
                }
                return body(keys, values)
            }
        }
    }
}
