package import DocumentFlow
package import GatewayClient
package import Logging

/// The source or the target of a replication.
package struct ReplicationEnd: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// Part of the replication's name.
    let identity: ReplicationID.End

    /// - Parameter identity: Distinguishes this end from others.
    package init(_ gateway: Gateway, identity: ReplicationID.End, contact: GatewayContact) {
        self.gateway = gateway
        self.identity = identity
        self.contact = contact
    }

    /// Creates the database of this end if it is missing, after the source has answered: `--create-target`.
    ///
    /// - Throws: `RunError`: `.databaseMissing` if this server can't create it, `.notAllowed` if this user may not;
    ///   `CancellationError`.
    package func create(copying source: ReplicationEnd, _ logger: Logger) async throws {
        _ = try await source.contact.connect(to: source.gateway, logLevel: .debug)
        let isNew = try await contact.askFirst {
            do { return try await gateway.createDatabase() } catch let error as GatewayError
                where error.code == .notOffered
            {
                throw RunError(.databaseMissing, error.message)
            }
        }
        guard isNew else { return }
        logger.notice("created the target's database", metadata: [LogKey.gateway: "\(gateway.url)"])
    }
}
