internal import Encodings
internal import GatewayClient
internal import Rules

/// Finds out whether a gateway has the indexes that related documents need.
struct IndexesCheck: Sendable {
    let gateway: Gateway
    let info: DatabaseInfo
    /// The selectors of all rules; nil if the rules are invalid or missing.
    let selectors: [LocatedSelector]?

    func findings() async -> [Finding] {
        // Selectors that name ids need no index.
        guard let searched = selectors?.filter({ !$0.namesIDs }) else { return [.skipped("no valid rules given")] }
        guard !searched.isEmpty else { return [.skipped("no rule searches for related documents")] }
        guard gateway.dialect.findsDocuments else {
            return [
                .skipped("\(gateway.dialect.name) has no queries: all documents are read to find related ones")
            ]
        }
        var findings: [Finding] = []
        for selector in searched {
            do throws(GatewayError) {
                let index = try await RelatedIndex.find(selector, gateway)
                if case .used = index.availability { continue }
                findings.append(
                    Finding(.warning, message: "\(selector.place): \(index.explanation(info, of: gateway))"))
            } catch {
                return findings + [
                    Finding(.unknown, error, "can't find out which index serves related documents")
                ]
            }
        }
        guard findings.isEmpty else { return findings }
        return [.ok("indexes serve the related documents of \(Quantity.count(searched.count, "selector"))")]
    }
}
