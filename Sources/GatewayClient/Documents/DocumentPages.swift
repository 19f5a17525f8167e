/// Every live document once, in the gateway's own order of ids, page after page.
///
/// A page begins with the last id of the page before, so that documents that come and go meanwhile move nothing: what
/// lives all the time is read exactly once. Holds one answer at a time; memory does not depend on the keyspace's size,
/// but for one id per page.
public struct DocumentPages {
    public static let defaultPageSize = 1000

    /// The last document that was handed out: where to go on, in this run or another.
    public private(set) var lastID: DocumentID?

    private let gateway: Gateway
    private let pageSize: Int
    private let includesDocuments: Bool
    private var answer: DocumentsAnswer?
    private var pageIsNew = true
    private var hasEnded = false
    /// With what each page began. No page begins like another, unless the gateway does not heed where to begin.
    private var firstIDs: Set<DocumentID> = []

    /// - Parameters:
    ///   - last: What an earlier run had read last; nil to begin at the beginning.
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
    /// - Throws: As ``Gateway/documents(from:limit:includesDocuments:)`` and ``DocumentsAnswer/next()``. After an error the
    ///   next call asks anew and goes on behind ``lastID``. `.notOffered` also if the gateway hands out the same page
    ///   again and again.
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
            // One more for the document that is there again.
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
