internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// Finds the documents that selectors match. If a selector names ids, it reads these documents. Otherwise it uses
/// queries if the gateway offers them, or reads all documents.
///
/// Each writer has one. It keeps only ids, because there may be many documents.
struct RelatedSearch {
    /// What the searches of a run share.
    final class Shared: Sendable {
        let pass: SharedSearch
        private let state = Locked((isRefused: false, isWarned: false))

        init(_ pass: SharedSearch) { self.pass = pass }

        /// Notes that this gateway, or a proxy, does not offer queries to this user.
        var areQueriesRefused: Bool { state.withLock(\.isRefused) }

        func noteRefusal() { state.withLock { $0.isRefused = true } }

        /// Whether this is the first warning about an index.
        func isFirstWarning() -> Bool {
            state.withLock { state in
                defer { state.isWarned = true }
                return !state.isWarned
            }
        }
    }

    /// The maximum number of documents of one answer.
    private static let pageSize = 5000
    /// After this many server errors, all documents are read instead.
    private static let failureLimit = 3

    private let gateway: Gateway
    private let shared: Shared
    private var reader: CurrentDocumentReader
    private let idsPerRequest: Int
    private var retrier: Retrier
    private let logger: Logger

    init(
        gateway: Gateway, shared: Shared, reader: CurrentDocumentReader, idsPerRequest: Int, retrier: Retrier,
        logger: Logger
    ) {
        self.gateway = gateway
        self.shared = shared
        self.reader = reader
        self.idsPerRequest = idsPerRequest
        self.retrier = retrier
        self.logger = logger
    }

    /// The matching documents of the first queries, as many as the memory allows.
    ///
    /// - Throws: `RunError` when the retry policy gives up, `CancellationError`, `RunIsStopping`.
    mutating func find(_ queries: [RelatedQuery]) async throws -> [RelatedDocuments] {
        let haveIDs = queries.map { $0.ids != nil }
        var read = try await read(zip(queries, haveIDs).filter(\.1).map(\.0)).makeIterator()
        var searched = try await search(zip(queries, haveIDs).filter { !$0.1 }.map(\.0)).makeIterator()
        var found: [RelatedDocuments] = []
        for isNamed in haveIDs {
            guard let next = isNamed ? read.next() : searched.next() else { break }
            found.append(next)
        }
        return found
    }

    // MARK: - By id

    /// Reads the documents whose ids the queries name. Documents that can't be read are not found.
    private mutating func read(_ queries: [RelatedQuery]) async throws -> [RelatedDocuments] {
        var request = SearchRequest(0, queries)
        var ids: [DocumentID] = []
        var owners: [DocumentID: [Int]] = [:]
        for (index, query) in queries.enumerated() {
            for id in query.ids ?? [] where owners[id]?.last != index {
                if owners[id] == nil { ids.append(id) }
                owners[id, default: []].append(index)
            }
        }
        let groups = queries.map { SelectorGroup([$0.selector]) }
        for start in stride(from: 0, to: ids.count, by: idsPerRequest) {
            try await reader.read(ids[start..<min(start + idsPerRequest, ids.count)]) { part, lookups in
                for case (let id, .found(_, let document)) in zip(part, lookups) {
                    for query in owners[id] ?? [] where !groups[query].matching(document.root).isEmpty {
                        request.note(id, for: query)
                    }
                }
            }
        }
        return request.result
    }

    // MARK: - By the selector

    private mutating func search(_ queries: [RelatedQuery]) async throws -> [RelatedDocuments] {
        guard !queries.isEmpty else { return [] }
        var found: [RelatedDocuments] = []
        var count = 0
        for query in queries {
            guard gateway.dialect.findsDocuments, !shared.areQueriesRefused else { break }
            guard let result = try await answer(to: query) else { break }
            if case .found(let ids) = result { count += ids.count }
            found.append(result)
            if count > SearchRequest.idLimit { return found }
        }
        guard found.isEmpty || found.count < queries.count && shared.areQueriesRefused else { return found }
        return found + (try await shared.pass.find(Array(queries[found.count...])))
    }

    /// Nil if the gateway can't answer the query: then all documents must be read.
    private mutating func answer(to query: RelatedQuery) async throws -> RelatedDocuments? {
        var found: [DocumentID] = []
        var bookmark: String?
        var failures = 0
        while true {
            do throws(GatewayError) {
                let page = try await gateway.find(query.selector.json, limit: Self.pageSize, bookmark: bookmark)
                retrier.succeed()
                if let warning = page.warning { logWarning(warning, of: query) }
                found += page.ids.filter(query.includes)
                if found.count > query.limit { return .tooMany }
                guard page.ids.count == Self.pageSize, let next = page.bookmark, next != bookmark else {
                    return .found(found)
                }
                bookmark = next
            } catch {
                failures += 1
                if let reason = try await wait(after: error, failures) {
                    note(reason, error, query)
                    return nil
                }
            }
        }
    }

    private enum SearchFailure { case query, gateway }

    /// Waits before the query is sent again.
    ///
    /// - Returns: Why a retry is useless; nil if it may help.
    private mutating func wait(after error: GatewayError, _ failures: Int) async throws -> SearchFailure? {
        switch error.code {
        case .forbidden, .notFound: return .gateway
        case .badRequest where error.status == 405 || error.status == 501: return .gateway
        case .badRequest, .tooLarge, .timedOut, .conflict: return .query
        case .serverError, .malformedAnswer: if failures >= Self.failureLimit { return .query }
        default: break
        }
        try await retrier.wait(after: error, "a query for related documents failed; trying again")
        return nil
    }

    private func note(_ obstacle: SearchFailure, _ error: GatewayError, _ query: RelatedQuery) {
        if obstacle == .gateway { shared.noteRefusal() }
        logger.warning(
            "the gateway can't find related documents by a query; reading all documents instead",
            metadata: [LogKey.reason: "\(error)", LogKey.selector: "\(query.selector.excerpt)"])
    }

    /// Logs a gateway's warning about a query once, because each query would cause it.
    private func logWarning(_ warning: String, of query: RelatedQuery) {
        guard shared.isFirstWarning() else { return }
        logger.warning(
            "CouchDB has no suitable index for related documents; see changebot rules check --gateway",
            metadata: [LogKey.reason: "\(warning)", LogKey.selector: "\(query.selector.excerpt)"])
    }
}
