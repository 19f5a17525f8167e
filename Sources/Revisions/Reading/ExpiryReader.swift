package import DocumentFlow
package import GatewayClient
internal import LosslessJSON

/// Reads the expiry times of documents, for jobs that copy or replace them.
package struct ExpiryReader: Sendable {
    /// Documents per call: a retry repeats only these.
    private static let batchSize = 100

    package let gateway: Gateway
    private let contact: GatewayContact

    package init(gateway: Gateway, contact: GatewayContact) {
        self.gateway = gateway
        self.contact = contact
    }

    /// The JSON text of `_exp`, in UTC, of the documents that expire; empty if expiries are not kept.
    ///
    /// - Parameter documents: The documents, with the lengths of their bodies where known.
    /// - Throws: `RunError`, `CancellationError`.
    package func expiries(of documents: [(id: DocumentID, byteCount: Int)]) async throws -> [DocumentID: [UInt8]] {
        guard gateway.keepsExpiry else { return [:] }
        var found: [DocumentID: [UInt8]] = [:]
        for start in stride(from: 0, to: documents.count, by: Self.batchSize) {
            let part = Array(documents[start..<min(start + Self.batchSize, documents.count)])
            let lookups = try await contact.ask { try await gateway.expiries(of: part) }
            for (document, lookup) in zip(part, lookups) { found[document.id] = lookup.expiry }
        }
        return found
    }
}
