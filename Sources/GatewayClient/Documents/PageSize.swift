/// The number of documents per page, chosen so that starting pages takes at most a twentieth of the time.
///
/// The cost of starting a page varies: about a millisecond on CouchDB, half a second on Sync Gateway even for a small
/// page. Memory does not depend on the size, because pages are read as they arrive.
struct PageSize: Sendable {
    /// For the first page, if nothing else is known.
    static let first = 10_000
    /// The largest page: an answer that takes an hour would rarely arrive completely.
    static let largest = 200_000
    /// The largest share of a page's time for starting it.
    private static let allowedShare = 0.05

    /// For the next page.
    private(set) var documents: Int
    private var limit: Int
    private let isFixed: Bool

    /// - Parameters:
    ///   - fixed: The size of all pages, at least 1. Nil: the size adapts.
    ///   - dialect: Determines the size of the first page.
    init(fixed: Int? = nil, dialect: GatewayDialect = .couchDB) {
        documents = max(1, fixed ?? (dialect.readsAllIDsForEachPage ? Self.largest : Self.first))
        limit = Self.largest
        isFixed = fixed != nil
    }

    /// Records that a page was read to its end.
    ///
    /// - Parameters:
    ///   - beginning: The time from the request to the first row.
    ///   - whole: The time from the request to the end of the answer, including the reader's pauses.
    mutating func notePage(beginning: Duration, whole: Duration) {
        guard !isFixed, whole > .zero else { return }
        let growth = (beginning / whole) / Self.allowedShare
        guard growth > 1 else { return }
        documents = min(limit, documents * min(10, Int(growth.rounded(.up))))
    }

    /// Records a truncated page. An intermediary may cut longer answers, so pages no longer grow.
    mutating func noteCut() {
        guard !isFixed else { return }
        documents = max(min(Self.first, documents), documents / 2)
        limit = documents
    }
}
