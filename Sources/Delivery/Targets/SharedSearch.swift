internal import DocumentFlow
package import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// The result of a search.
package enum RelatedDocuments: Sendable {
    case found([DocumentID])
    /// More documents match than the query's limit.
    case tooMany
}

/// Finds documents by reading all of them, in one pass for all waiting queries. For gateways without queries.
///
/// Queries that arrive during a pass wait for the next one.
actor SharedSearch {
    private let pass: SearchPass
    private var waiting: [SearchRequest] = []
    private var results: [Int: Result<[RelatedDocuments], any Error>] = [:]
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var isRunning = false
    private var nextNumber = 0

    init(_ pass: SearchPass) { self.pass = pass }

    /// How many callers wait for the next pass.
    var waitingCount: Int { waiting.count }

    /// The matching documents of the first queries, as many as the memory allows.
    ///
    /// - Throws: `RunError` when the retry policy gives up, `CancellationError`, `RunIsStopping`.
    func find(_ queries: [RelatedQuery]) async throws -> [RelatedDocuments] {
        let number = nextNumber
        nextNumber += 1
        waiting.append(SearchRequest(number, queries))
        while true {
            if let result = results.removeValue(forKey: number) { return try result.get() }
            if isRunning {
                await withNamedContinuation("the search of another writer") { waiters.append($0) }
            } else {
                await runPass()
            }
        }
    }

    /// Answers all waiting requests, and wakes their callers.
    private func runPass() async {
        isRunning = true
        let requests = waiting
        waiting = []
        do {
            for request in try await pass.answer(requests) { results[request.number] = .success(request.result) }
        } catch {
            for request in requests { results[request.number] = .failure(error) }
        }
        isRunning = false
        let woken = waiters
        waiters = []
        for waiter in woken { waiter.resume() }
    }
}

/// The queries of one caller, and their results so far.
struct SearchRequest: Sendable {
    /// The maximum number of ids that one caller gets from a pass, unless it has a single query with a higher limit.
    static let idLimit = 100_000

    let number: Int
    let queries: [RelatedQuery]
    private var found: [[DocumentID]]
    private var isTooMany: [Bool]
    /// How many of the first queries this pass answers.
    private var answered: Int
    private var count = 0

    init(_ number: Int, _ queries: [RelatedQuery]) {
        self.number = number
        self.queries = queries
        found = queries.map { _ in [] }
        isTooMany = queries.map { _ in false }
        answered = queries.count
    }

    var result: [RelatedDocuments] {
        (0..<answered).map { isTooMany[$0] ? .tooMany : .found(found[$0]) }
    }

    /// Notes that a document matches a query.
    mutating func note(_ id: DocumentID, for query: Int, idLimit: Int = SearchRequest.idLimit) {
        guard query < answered, !isTooMany[query], queries[query].includes(id) else { return }
        found[query].append(id)
        count += 1
        if found[query].count > queries[query].limit {
            forget(query)
            isTooMany[query] = true
        }
        while count > idLimit, answered > 1 {
            // The next pass answers it.
            answered -= 1
            forget(answered)
        }
    }

    private mutating func forget(_ query: Int) {
        count -= found[query].count
        found[query] = []
    }
}

/// Reads all documents of a keyspace, and finds those that match any query.
struct SearchPass: Sendable {
    let gateway: Gateway
    let retries: RetryPolicy.Settings
    let pauses: Pauses
    let logger: Logger
    let noteRetry: @Sendable () async -> Void

    /// - Returns: The requests with their results.
    /// - Throws: `RunError` when the retry policy gives up, `CancellationError`, `RunIsStopping`.
    func answer(_ requests: [SearchRequest]) async throws -> [SearchRequest] {
        var requests = requests
        let owners = requests.indices.flatMap { request in
            requests[request].queries.indices.map { (request: request, query: $0) }
        }
        let group = SelectorGroup(requests.flatMap { $0.queries.map(\.selector) })
        func take(_ id: DocumentID, _ places: [Int]) {
            for place in places { requests[owners[place].request].note(id, for: owners[place].query) }
        }
        var list = DocumentListReader(
            DocumentPages(of: gateway),
            Retrier(RetryPolicy.forKnownGateway(retries), pauses: pauses, logger: logger, noteRetry: noteRetry))
        while let batch = try await list.next() {
            for row in batch {
                guard let document = row.document else { continue }
                let places = group.matching(document)
                if !places.isEmpty, row.kind == .document { take(row.id, places) }
            }
        }
        if list.isForbidden {
            logger.notice(DocumentListReader.readsFeedInstead)
            try await readFeed(group, take)
        }
        return requests
    }

    /// For users who may not list documents.
    private func readFeed(_ group: SelectorGroup, _ take: (DocumentID, [Int]) -> Void) async throws {
        var newest: SequenceID?
        do throws(GatewayError) { newest = try await gateway.databaseInfo().newestSequence } catch {
            // Then the first answer contains the whole feed.
        }
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: newest), retries: retries, logger: logger, noteRetry: noteRetry)
        reader.logsCaughtUp = false
        // A document that changes meanwhile is returned again.
        var seen: Set<DocumentID> = []
        try await reader.read(from: .start) { rows, _ in
            guard let rows else { return }
            for row in rows where row.kind == .document {
                guard let document = row.document else { continue }
                let places = group.matching(document)
                if !places.isEmpty, seen.insert(row.id).inserted { take(row.id, places) }
            }
        }
    }
}
