public import GatewayClient

/// Why a keyspace can't be used. Each needs another remedy.
public enum LoginError: Error, Sendable {
    /// No gateway answers at this address now. If `isRetryable` is true, waiting may help.
    case unreachable(GatewayError)
    /// Name and password, or the token, are wrong; or the gateway refuses anonymous users.
    case wrongCredentials(GatewayError)
    /// There is a gateway, but this user may not see the keyspace, or there is none of this name. Sync Gateway does not
    /// say which.
    case noAccess(GatewayError)
}

extension LoginError: CustomStringConvertible {
    /// With the address and a remedy; without credentials.
    public var description: String {
        switch self {
        case .unreachable(let error): "the gateway can't be reached: \(error)"
        case .wrongCredentials(let error): "the gateway refuses the login: \(error)"
        case .noAccess(let error): "no access to this keyspace: \(error)"
        }
    }

    init(_ error: GatewayError) {
        switch error.code {
        case .unauthorized:
            // Sync Gateway asks for credentials only where there is a database.
            let isKnownUser = [.unknownDatabaseOrLogin, .accessDenied].contains(error.cause)
            self = isKnownUser ? .noAccess(error) : .wrongCredentials(error)
        case .forbidden, .notFound: self = .noAccess(error)
        default: self = .unreachable(error)
        }
    }
}

extension Keyspace {
    /// Finds out whether the keyspace can be read. To be called first, so that a wrong address or password is noticed at
    /// once: feeds wait for a gateway that can't be reached.
    ///
    /// Two small requests. Does not retry.
    ///
    /// - Throws: ``LoginError``, or `CancellationError`.
    public func logIn() async throws {
        do throws(GatewayError) {
            _ = try await gateway.databaseInfo()
            // A user may see the database, but not the collection.
            var answer = try await gateway.changes(ChangesRequest(includesDocuments: false, limit: 1))
            _ = try await answer.next()
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            throw LoginError(error)
        }
    }
}
