internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Reads documents one by one as they are now.
///
/// Gives up on a document that keeps failing while the gateway answers for others. Waits for the end of an outage.
struct DocumentReader: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// Counts documents that were read.
    private let arrivals = Arrivals()

    init(gateway: Gateway, contact: GatewayContact) {
        self.gateway = gateway
        self.contact = contact
    }

    /// - Throws: `RunError`, `CancellationError`.
    func read(_ id: DocumentID) async throws -> DocumentLookup {
        let answer = try await contact.single(
            gateway, arrivals: arrivals, "reading a document failed; retrying", ["id": "\(id)"]
        ) { () async throws(GatewayError) in try await gateway.currentDocument(id) }
        switch answer {
        case .success(let lookup):
            arrivals.note()
            return lookup
        case .failure(let error): return .refused(reason: error.description)
        }
    }
}
