internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Reads documents of a gateway that match a selector. Never writes.
struct SamplePicker: Sendable {
    /// Without queries, at most this many documents are read.
    private static let readLimit = 50_000
    private static let pageSize = 500

    let gateway: Gateway

    /// Why no documents were read.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - selector: A Mango selector as JSON. Empty: any document.
    ///   - limit: The maximum number of documents.
    /// - Throws: ``Failure`` that names the request that failed, or what is wrong with the selector.
    func pick(_ selector: String, _ limit: Int) async throws -> [JSONText] {
        let text = selector.contains { !$0.isWhitespace } ? selector : "{}"
        let filter: DocumentFilter
        do { filter = try DocumentFilter(text, name: "selector") } catch { throw Failure(description: "\(error)") }
        do {
            _ = try await gateway.findDialect()
            if gateway.dialect.findsDocuments, let found = try await query(text, limit) { return found }
            return try await list(filter, limit)
        } catch let error as GatewayError {
            throw Failure(
                description: "no documents were read: \(error); try again when the gateway answers")
        }
    }

    /// Nil if this user may not send queries.
    private func query(_ selector: String, _ limit: Int) async throws -> [JSONText]? {
        let found: FoundDocuments
        do throws(GatewayError) { found = try await gateway.find(Array(selector.utf8), limit: limit) } catch {
            guard [.forbidden, .notFound].contains(error.code) else { throw error }
            return nil
        }
        guard !found.ids.isEmpty else { return [] }
        return try await gateway.currentDocuments(found.ids).compactMap { lookup in
            if case .found(_, let document) = lookup { document } else { nil }
        }
    }

    private func list(_ filter: DocumentFilter, _ limit: Int) async throws -> [JSONText] {
        let matcher = DocumentMatcher(filter)
        var pages = DocumentPages(of: gateway, pageSize: Self.pageSize)
        var found: [JSONText] = []
        var count = 0
        while found.count < limit, count < Self.readLimit, let batch = try await pages.next() {
            count += batch.count
            for row in batch where found.count < limit {
                guard let document = row.document, try matcher.matches(document),
                    filter.namesDesignDocuments || !row.id.text.hasPrefix("_design/")
                else { continue }
                found.append(try JSONText(Array(document.bytes)))
            }
        }
        return found
    }
}
