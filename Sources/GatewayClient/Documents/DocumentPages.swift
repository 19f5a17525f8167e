/// Lists every live document once, page by page, in the gateway's own order of ids.
///
/// A page begins with the last id of the previous page, so that concurrent additions and deletions do not shift pages.
/// A document that exists the whole time is read exactly once. Holds one answer at a time; memory does not depend on
/// the size of the keyspace, except for one id per page.
public struct DocumentPages {
    /// The last document that was returned: where to continue, in this run or another.
    public private(set) var lastID: DocumentID?

    /// Called before each request is sent, after all documents of the earlier answers were returned.
    package var noteRequest: @Sendable () async -> Void = {}

    private let gateway: Gateway
    private var size: PageSize
    private let includesDocuments: Bool
    private var answer: DocumentsAnswer?
    /// When the page was requested, and how long its first row took.
    private var requestedAt = ContinuousClock.now
    private var beginning: Duration?
    private var isNewPage = true
    /// The limit of the page's rows, and the rows so far.
    private var (limit, rows) = (0, 0)
    private var hasEnded = false
    /// The first id of each page. Two pages share an id only if the gateway ignores `startkey`.
    private var firstIDs: Set<DocumentID> = []

    /// - Parameters:
    ///   - last: The last id that an earlier run has read; nil to start at the beginning.
    ///   - pageSize: Documents per request, at least 1. Nil: 10,000 at first, and more (at most 200,000) if the gateway
    ///     starts pages slowly. A known Sync Gateway gets 200,000 from the beginning.
    public init(
        of gateway: Gateway, after last: DocumentID? = nil, pageSize: Int? = nil, includesDocuments: Bool = true
    ) {
        self.gateway = gateway
        lastID = last
        size = PageSize(fixed: pageSize, dialect: gateway.knowsDialect ? gateway.dialect : .couchDB)
        self.includesDocuments = includesDocuments
    }

    /// The next documents, as many as have arrived. Nil when a page has nothing new, or fewer documents than requested
    /// on a gateway where that reliably is the end.
    ///
    /// - Throws: The same errors as ``Gateway/documents(from:limit:includesDocuments:)`` and
    ///   ``DocumentsAnswer/next()``. After an error, the next call sends a new request and continues after ``lastID``.
    ///   Also `.notOffered` if the gateway keeps returning the same page.
    public mutating func next() async throws(GatewayError) -> DocumentBatch? {
        while !hasEnded {
            let batch: DocumentBatch?
            do throws(GatewayError) { batch = try await nextBatch() } catch {
                if beginning != nil { size.noteCut() }
                answer = nil
                throw error
            }
            if let batch {
                rows += batch.count
                if let fresh = try take(batch) { return fresh }
            } else {
                if let beginning { size.notePage(beginning: beginning, whole: requestedAt.duration(to: .now)) }
                answer = nil
                hasEnded = isNewPage || rows < limit && gateway.knowsDialect && gateway.dialect.shortPageEndsList
            }
        }
        return nil
    }

    private mutating func nextBatch() async throws(GatewayError) -> DocumentBatch? {
        if answer == nil {
            // One more, for the last document of the previous page.
            let repeated = lastID == nil || size.documents == .max ? 0 : 1
            isNewPage = true
            (limit, rows) = (size.documents + repeated, 0)
            (requestedAt, beginning) = (.now, nil)
            await noteRequest()
            answer = try await gateway.documents(from: lastID, limit: limit, includesDocuments: includesDocuments)
        }
        let batch = try await answer?.next()
        beginning = beginning ?? requestedAt.duration(to: .now)
        return batch
    }

    /// The batch without the last document of the previous page; nil if nothing else is in it.
    private mutating func take(_ batch: DocumentBatch) throws(GatewayError) -> DocumentBatch? {
        let fresh = isNewPage && batch.first?.id == lastID ? batch.withoutFirst() : batch
        guard let first = fresh.first, let last = fresh.last else { return nil }
        if isNewPage {
            guard firstIDs.insert(first.id).inserted else {
                answer = nil
                throw GatewayError(.notOffered, "\(gateway.url): _all_docs keeps returning the same page")
            }
            isNewPage = false
        }
        lastID = last.id
        return fresh
    }
}
