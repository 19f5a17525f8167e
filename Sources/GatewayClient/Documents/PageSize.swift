/// How many documents a page has: so many that the beginnings of pages take at most a twentieth of the time.
///
/// What the beginning of a page costs differs: CouchDB takes a millisecond, a Sync Gateway half a second even for a
/// small page. Memory does not depend on the size, because pages are read as they arrive.
struct PageSize: Sendable {
    /// For the first page, if nothing else is known.
    static let first = 10_000
    /// The largest page: an hour-long answer would rarely arrive whole.
    static let largest = 200_000
    /// What part of a page's time its beginning may take.
    private static let allowedShare = 0.05

    /// For the next page.
    private(set) var documents: Int
    private var limit: Int
    private let isFixed: Bool

    /// - Parameters:
    ///   - fixed: The size of all pages, at least 1. Nil: the size adapts.
    ///   - dialect: Decides how large the first page is.
    init(fixed: Int? = nil, dialect: GatewayDialect = .couchDB) {
        documents = max(1, fixed ?? (dialect.readsAllIDsForEachPage ? Self.largest : Self.first))
        limit = Self.largest
        isFixed = fixed != nil
    }

    /// A page has been read to its end.
    ///
    /// - Parameters:
    ///   - beginning: From the request to the first row.
    ///   - whole: From the request to the end of the answer, pauses of the reader included.
    mutating func notePage(beginning: Duration, whole: Duration) {
        guard !isFixed, whole > .zero else { return }
        let growth = (beginning / whole) / Self.allowedShare
        guard growth > 1 else { return }
        documents = min(limit, documents * min(10, Int(growth.rounded(.up))))
    }

    /// A page broke off. Something on the way may not let longer answers pass, so pages do not grow any more.
    mutating func noteCut() {
        guard !isFixed else { return }
        documents = max(min(Self.first, documents), documents / 2)
        limit = documents
    }
}
