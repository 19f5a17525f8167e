/// Lists every live document once, page by page, in the gateway's own order of ids.
///
/// A page begins with the last id of the page before, so documents that are added or deleted meanwhile shift nothing: a
/// document that exists all the time is read exactly once. Holds one answer at a time; memory does not depend on the
/// size of the keyspace, except for one id per page.
public struct DocumentPages {
    /// Documents per request.
    public static let defaultPageSize = 1000

    /// The last document that was returned: where to continue, in this run or another.
    public private(set) var lastID: DocumentID?

    private let gateway: Gateway
    private let pageSize: Int
    private let includesDocuments: Bool
    private var answer: DocumentsAnswer?
    private var pageIsNew = true
    private var hasEnded = false
    /// The first id of each page. Two pages share one only if the gateway ignores `startkey`.
    private var firstIDs: Set<DocumentID> = []

    /// - Parameters:
    ///   - last: The last id that an earlier run has read; nil to start at the beginning.
    ///   - pageSize: Documents per request, at least 1.
    public init(
        of gateway: Gateway, after last: DocumentID? = nil, pageSize: Int = defaultPageSize,
        includesDocuments: Bool = true
    ) {
        self.gateway = gateway
        lastID = last
        self.pageSize = max(1, pageSize)
        self.includesDocuments = includesDocuments
    }

    /// The next documents, as many as have arrived; nil once a page brings nothing new.
    ///
    /// - Throws: As ``Gateway/documents(from:limit:includesDocuments:)`` and ``DocumentsAnswer/next()``. After an error
    ///   the next call sends a new request and continues after ``lastID``. Also `.notOffered` if the gateway keeps
    ///   returning the same page.
    public mutating func next() async throws(GatewayError) -> DocumentBatch? {
        while !hasEnded {
            let batch: DocumentBatch?
            do throws(GatewayError) { batch = try await nextBatch() } catch {
                answer = nil
                throw error
            }
            if let batch {
                if let fresh = try take(batch) { return fresh }
            } else {
                answer = nil
                hasEnded = pageIsNew
            }
        }
        return nil
    }

    private mutating func nextBatch() async throws(GatewayError) -> DocumentBatch? {
        if answer == nil {
            // One more, for the document that the page before ended with.
            let repeated = lastID == nil || pageSize == .max ? 0 : 1
            pageIsNew = true
            answer = try await gateway.documents(
                from: lastID, limit: pageSize + repeated, includesDocuments: includesDocuments)
        }
        return try await answer?.next()
    }

    /// The batch without the document that the page before ended with; nil if that was all.
    private mutating func take(_ batch: DocumentBatch) throws(GatewayError) -> DocumentBatch? {
        let fresh = pageIsNew && batch.first?.id == lastID ? batch.withoutFirst() : batch
        guard let first = fresh.first, let last = fresh.last else { return nil }
        if pageIsNew {
            guard firstIDs.insert(first.id).inserted else {
                answer = nil
                throw GatewayError(.notOffered, "\(gateway.url): _all_docs returns the same page again and again")
            }
            pageIsNew = false
        }
        lastID = last.id
        return fresh
    }
}
