internal import Encodings
internal import GatewayClient
internal import Rules

/// Finds out whether a gateway has the indexes that related documents need.
struct IndexesCheck: Sendable {
    let gateway: Gateway
    let info: DatabaseInfo
    /// Of all rules; nil if the rules are not valid, or not given.
    let selectors: [PlacedSelector]?

    func findings() async -> [Finding] {
        guard let selectors else { return [.skipped("no valid rules given")] }
        guard !selectors.isEmpty else { return [.skipped("no rule has related documents")] }
        guard gateway.dialect.findsDocuments else {
            return [.skipped("\(gateway.dialect.name) has no queries: related documents are found by reading all")]
        }
        var findings: [Finding] = []
        for selector in selectors {
            do throws(GatewayError) {
                let index = try await RelatedIndex.find(selector, gateway)
                if case .used = index.standing { continue }
                findings.append(Finding(.warning, message: index.explanation(info, of: gateway)))
            } catch {
                return findings + [
                    Finding(.unknown, error, "which index serves related documents can't be found out")
                ]
            }
        }
        guard findings.isEmpty else { return findings }
        return [.ok("indexes serve the related documents of \(Quantity.count(selectors.count, "selector"))")]
    }
}
