package import DocumentFlow
package import GatewayClient

/// The source or the target of a replication.
package struct ReplicationEnd: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// For the replication's name.
    let identity: ReplicationID.End

    /// - Parameter identity: Tells this end from others.
    package init(_ gateway: Gateway, identity: ReplicationID.End, contact: GatewayContact) {
        self.gateway = gateway
        self.identity = identity
        self.contact = contact
    }
}
