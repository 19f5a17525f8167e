internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Finds the documents that a selector matches, by the means that the gateway offers.
struct DocumentSearch<Document: DocumentCodable>: Sendable {
    typealias Found = Result<Document, DocumentDecodingError>
    typealias Receive = ([Found]) async throws -> Void

    /// Documents per `_find` answer.
    private static var pageSize: Int { 1000 }

    let gateway: Gateway
    let logger: Logger
    let selector: DocumentSelector
    let reading: DocumentReading<Document>

    private var retries: RetryPolicy.Settings {
        var retries = RetryPolicy.Settings()
        retries.waitsForFirstContact = true
        return retries
    }

    private var contact: GatewayContact { GatewayContact(settings: retries, logger: logger) }

    /// - Throws: `RunError`, `GatewayError`, `CancellationError`, what `receive` throws.
    func run(_ receive: Receive) async throws {
        _ = try await contact.connect(to: gateway, logLevel: .debug)
        if gateway.dialect == .couchDB, selector.json != DocumentSelector.all.json, try await find(receive) { return }
        if try await list(receive) { return }
        let matcher = DocumentMatcher(selector.filter)
        try await KeyspaceFeed(gateway: gateway, logger: logger, isLive: false).read(from: .start) { rows in
            try await receive(
                rows.compactMap { row -> Found? in
                    switch row.content {
                    case .document(let value): found(value, row.id, row.revision, matcher)
                    case .malformed(let reason): .failure(.malformed(row, reason))
                    case .deleted, .inaccessible: nil
                    }
                })
        }
    }

    /// Lets the server find the documents. They are read afterwards, in their current state.
    ///
    /// - Returns: False if the server or a proxy does not offer queries.
    private func find(_ receive: Receive) async throws -> Bool {
        let matcher = DocumentMatcher(selector.filter)
        var current = CurrentDocumentReader(
            gateway: gateway, policy: .forKnownGateway(retries), logger: logger, noteRetry: {})
        var bookmark: String?
        while true {
            let page = try await contact.ask { [bookmark] () -> FoundDocuments? in
                do throws(GatewayError) {
                    return try await gateway.find(Array(selector.json.utf8), limit: Self.pageSize, bookmark: bookmark)
                } catch {
                    guard bookmark == nil, error.queriesUnsupported else { throw error }
                    return nil
                }
            }
            guard let page else { return false }
            try await current.read(page.ids[...]) { ids, lookups in
                try await receive(
                    zip(ids, lookups).compactMap { id, lookup -> Found? in
                        guard case .found(let revision, let text) = lookup else { return nil }
                        return found(text.root, id, revision, matcher)
                    })
            }
            guard page.ids.count == Self.pageSize, let next = page.bookmark else { return true }
            bookmark = next
        }
    }

    /// Reads all documents.
    ///
    /// - Returns: False if this user may not list them.
    private func list(_ receive: Receive) async throws -> Bool {
        let matcher = DocumentMatcher(selector.filter)
        var list = DocumentListReader(
            DocumentPages(of: gateway), Retrier(.forKnownGateway(retries), logger: logger, noteRetry: {}))
        while let batch = try await list.next() {
            try await receive(
                batch.compactMap { row -> Found? in
                    switch row.kind {
                    case .document: row.document.flatMap { found($0, row.id, row.revision, matcher) }
                    case .malformed(let error):
                        .failure(
                            DocumentDecodingError(row.id, row.revision, expected: "JSON", found: "broken: \(error)"))
                    default: nil
                    }
                })
        }
        return !list.isForbidden
    }

    /// Nil for a document that is not requested.
    private func found(
        _ document: JSONValue, _ id: DocumentID, _ revision: RevisionID?, _ matcher: DocumentMatcher
    ) -> Found? {
        // If the selector can't be applied, for example because a regular expression takes too long, the document does
        // not match.
        guard reading.hasType(document), (try? matcher.matches(document)) == true else { return nil }
        return reading.read(document, id: id, revision: revision)
    }
}

extension GatewayError {
    /// Whether queries, or this query, are not offered.
    fileprivate var queriesUnsupported: Bool { [400, 403, 404, 405].contains(status) && !concernsAllDocuments }
}
