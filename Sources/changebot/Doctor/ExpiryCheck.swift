internal import GatewayClient

/// Looks at some documents, to find out whether they expire: then writing them needs `--keep-expiry`.
struct ExpiryCheck: Sendable {
    /// How many documents are looked at.
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
        let answer = await outcome { () async throws(GatewayError) in try await look() }
        return switch answer {
        case .success(let (expiring, looked)): Self.finding(expiring, of: looked, keepsExpiry)
        case .failure(let error): Finding(.unknown, error, "whether documents expire can't be known")
        }
    }

    /// - Parameter expiring: One of the documents that expire; nil if none does.
    static func finding(_ expiring: DocumentID?, of looked: Int, _ keepsExpiry: Bool) -> Finding {
        switch (expiring, keepsExpiry) {
        case (let id?, false):
            Finding(
                .warning, "the document '\(id)' expires, but not any more once this bot has written it",
                remedy: "add --keep-expiry, or write keep_expiry: true in the configuration file")
        case (_?, true): .ok("documents expire, and their expiry is kept")
        case (nil, true):
            .ok("none of the \(looked) documents looked at expires; --keep-expiry costs a request for each document")
        case (nil, false): .ok("none of the \(looked) documents looked at expires")
        }
    }

    private func look() async throws(GatewayError) -> (expiring: DocumentID?, looked: Int) {
        var ids: [DocumentID] = []
        var answer = try await gateway.documents(limit: Self.sample, includesDocuments: false)
        while let batch = try await answer.next() { ids += batch.filter { $0.kind == .document }.map(\.id) }
        let lookups = try await gateway.expiries(of: ids.map { ($0, 0) })
        return (zip(ids, lookups).first { $0.1.expiry != nil }?.0, ids.count)
    }
}
