/// The databases of a server, or the collections of a database: which exist, and which have changed.
package protocol DatabaseDirectory: Sendable {
    /// What the members of the directory are, for messages: `databases`, `collections`.
    var what: String { get }
    /// Whether the server is expected to announce changes, so that it is worth a warning if it does not.
    var expectsAnnouncements: Bool { get }

    /// All names, in the server's order. If this user may not list them, the names that are known without a list.
    func names() async throws(GatewayError) -> [String]

    /// What the server tells of each of these databases. Missing ones are left out. Collections have the facts of their
    /// database, among them its newest sequence.
    ///
    /// - Parameter names: At most ``Gateway/maxDatabasesOfRequest``.
    func infos(of names: [String]) async throws(GatewayError) -> [String: DatabaseInfo]

    /// The updates after a sequence, or the newest sequence if that is nil.
    ///
    /// - Throws: `.notOffered` if the server does not announce updates, or not to this user.
    func updates(since: SequenceID?) async throws(GatewayError) -> DatabaseUpdates

    /// The gateway of one member. Shares the connections of the server.
    ///
    /// - Throws: ``GatewayURLError`` for a name that can't be part of a URL.
    func gateway(_ name: String) throws(GatewayURLError) -> Gateway
}

extension Gateway {
    /// The databases of this server, or the collections of this database.
    package func directory(for patterns: DatabasePatterns) -> any DatabaseDirectory {
        switch patterns.kind {
        case .databases: ServerDirectory(self, patterns)
        case .collections: CollectionDirectory(self, patterns)
        }
    }
}

extension GatewayError {
    /// Whether the server does not know a request that only other servers, versions or ports have.
    var isRefusalOfRequest: Bool {
        code == .notFound || code == .notOffered || code == .badRequest || status == 405
    }

    /// Whether this user may not send a request that administrators may.
    var isRefusalOfUser: Bool { code == .unauthorized || code == .forbidden }

    /// With what to do about a list that is refused.
    func namingRemedy(_ remedy: String) -> GatewayError {
        guard isRefusalOfUser || isRefusalOfRequest else { return self }
        var error = self
        error.message += "; \(remedy)"
        return error
    }
}
