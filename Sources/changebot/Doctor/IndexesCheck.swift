internal import Encodings
internal import GatewayClient
internal import Rules

/// Finds out whether a gateway has the indexes that related documents need.
struct IndexesCheck: Sendable {
    let gateway: Gateway
    let info: DatabaseInfo
    /// Of all rules; nil if the rules are not valid, or not given.
    let selectors: [LocatedSelector]?

    func findings() async -> [Finding] {
        // Documents whose ids are named are read without an index.
        guard let searched = selectors?.filter({ !$0.namesIDs }) else { return [.skipped("no valid rules given")] }
        guard !searched.isEmpty else { return [.skipped("no rule searches for related documents")] }
        guard gateway.dialect.findsDocuments else {
            return [.skipped("\(gateway.dialect.name) has no queries: related documents are found by reading all")]
        }
        var findings: [Finding] = []
        for selector in searched {
            do throws(GatewayError) {
                let index = try await RelatedIndex.find(selector, gateway)
                if case .used = index.standing { continue }
                findings.append(
                    Finding(.warning, message: "\(selector.place): \(index.explanation(info, of: gateway))"))
            } catch {
                return findings + [
                    Finding(.unknown, error, "which index serves related documents can't be found out")
                ]
            }
        }
        guard findings.isEmpty else { return findings }
        return [.ok("indexes serve the related documents of \(Quantity.count(searched.count, "selector"))")]
    }
}
