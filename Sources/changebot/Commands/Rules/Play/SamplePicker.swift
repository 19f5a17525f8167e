internal import GatewayClient
internal import LosslessJSON
internal import RulePlay
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
    func pick(_ selector: String, _ limit: Int) async throws -> PickedDocuments {
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
    private func query(_ selector: String, _ limit: Int) async throws -> PickedDocuments? {
        let found: FoundDocuments
        do throws(GatewayError) { found = try await gateway.find(Array(selector.utf8), limit: limit) } catch {
            guard [.forbidden, .notFound].contains(error.code) else { throw error }
            return nil
        }
        var picked = PickedDocuments()
        guard !found.ids.isEmpty else { return picked }
        for (id, lookup) in zip(found.ids, try await gateway.currentDocuments(found.ids)) {
            switch lookup {
            case .found(_, let document): picked.documents.append(document)
            case .refused(let reason): picked.leaveOut(id.text, reason)
            // Deleted since the query.
            case .deleted, .missing: break
            }
        }
        return picked
    }

    private func list(_ filter: DocumentFilter, _ limit: Int) async throws -> PickedDocuments {
        let matcher = DocumentMatcher(filter)
        var pages = DocumentPages(of: gateway, pageSize: Self.pageSize)
        var picked = PickedDocuments()
        var count = 0
        while picked.documents.count < limit, count < Self.readLimit, let batch = try await pages.next() {
            count += batch.count
            for row in batch where picked.documents.count < limit {
                guard filter.namesDesignDocuments || !row.id.text.hasPrefix("_design/") else { continue }
                Self.take(row, matcher, into: &picked)
            }
        }
        return picked
    }

    private static func take(_ row: ListedDocument, _ matcher: DocumentMatcher, into picked: inout PickedDocuments) {
        switch row.kind {
        case .document:
            guard let document = row.document else { return }
            do {
                if try matcher.matches(document) { picked.documents.append(try JSONText(Array(document.bytes))) }
            } catch {
                picked.leaveOut(row.id.text, "\(error)")
            }
        case .unreadable(let reason): picked.leaveOut(row.id.text, reason)
        case .malformed(let error): picked.leaveOut(row.id.text, "the gateway sent invalid JSON: \(error)")
        case .deleted, .missing: break
        }
    }
}
