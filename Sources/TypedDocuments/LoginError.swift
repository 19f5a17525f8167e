public import GatewayClient

/// Why a keyspace can't be used. Each case has its own remedy.
public enum LoginError: Error, Sendable {
    /// The gateway at this address does not answer. If `isRetryable` is true, waiting may help.
    case unreachable(GatewayError)
    /// The user name, password or token is wrong, or the gateway refuses anonymous users.
    case wrongCredentials(GatewayError)
    /// The gateway answers, but this user may not see the keyspace, or it does not exist. Sync Gateway does not
    /// distinguish the two.
    case noAccess(GatewayError)
}

extension LoginError: CustomStringConvertible {
    /// Includes the address and a remedy, but no credentials.
    public var description: String {
        switch self {
        case .unreachable(let error): "the gateway is unreachable: \(error)"
        case .wrongCredentials(let error): "the gateway refuses the login: \(error)"
        case .noAccess(let error): "no access to this keyspace: \(error)"
        }
    }

    init(_ error: GatewayError) {
        switch error.code {
        case .unauthorized:
            // Sync Gateway asks for credentials only if the database exists.
            let isKnownUser = [.unknownDatabaseOrLogin, .accessDenied].contains(error.cause)
            self = isKnownUser ? .noAccess(error) : .wrongCredentials(error)
        case .forbidden, .notFound: self = .noAccess(error)
        default: self = .unreachable(error)
        }
    }
}

extension Keyspace {
    /// Checks whether the keyspace can be read. Call it first to detect a wrong address or password: feeds wait for a
    /// gateway that is unreachable.
    ///
    /// Sends two small requests. Does not retry.
    ///
    /// - Throws: ``LoginError``, or `CancellationError`.
    public func logIn() async throws {
        do throws(GatewayError) {
            _ = try await gateway.databaseInfo()
            // A user may see the database but not the collection.
            var answer = try await gateway.changes(ChangesRequest(includesDocuments: false, limit: 1))
            _ = try await answer.next()
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            throw LoginError(error)
        }
    }
}
