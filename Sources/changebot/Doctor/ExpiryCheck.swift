internal import GatewayClient

/// Samples documents to see whether any of them expire. If so, the bot needs `--keep-expiry` to write them.
struct ExpiryCheck: Sendable {
    /// How many documents are sampled.
    private static let sample = 20

    let gateway: Gateway
    let keepsExpiry: Bool

    func finding() async -> Finding {
        guard gateway.dialect.expiresDocuments else {
            guard keepsExpiry else { return .ok("documents don't expire on \(gateway.dialect.name)") }
            return Finding(
                .warning, "documents don't expire on \(gateway.dialect.name), so --keep-expiry has no effect",
                remedy: "remove --keep-expiry")
        }
        let answer = await outcome { () async throws(GatewayError) in try await firstExpiring() }
        return switch answer {
        case .success(let (expiring, looked)): Self.finding(expiring, of: looked, keepsExpiry)
        case .failure(let error): Finding(.unknown, error, "can't find out whether documents expire")
        }
    }

    /// - Parameter expiring: One of the documents that expire; nil if there is none.
    static func finding(_ expiring: DocumentID?, of looked: Int, _ keepsExpiry: Bool) -> Finding {
        let documents = Quantity.count(looked, "document")
        return switch (expiring, keepsExpiry) {
        case (let id?, false):
            Finding(
                .warning, "the document '\(id)' expires, but loses its expiry when this bot writes it",
                remedy: "add --keep-expiry, or write keep_expiry: true in the configuration file")
        case (_?, true): .ok("documents expire, and their expiry is kept")
        case (nil, true):
            .ok("\(documents) read, none expires; --keep-expiry costs a request for each document")
        case (nil, false): .ok("\(documents) read, none expires")
        }
    }

    private func firstExpiring() async throws(GatewayError) -> (expiring: DocumentID?, looked: Int) {
        var ids: [DocumentID] = []
        var answer = try await gateway.documents(limit: Self.sample, includesDocuments: false)
        while let batch = try await answer.next() { ids += batch.filter { $0.kind == .document }.map(\.id) }
        let lookups = try await gateway.expiries(of: ids.map { ($0, 0) })
        return (zip(ids, lookups).first { $0.1.expiry != nil }?.0, ids.count)
    }
}
