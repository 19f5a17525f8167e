internal import BotState
package import GatewayClient
internal import Rules

/// What is known about a candidate's document until it is read again.
package struct Content: Sendable {
    /// The revision of ``document``: from the change, or from reading it again.
    var revision: RevisionID?
    /// Whether ``document`` is a tombstone.
    var isDeleted: Bool
    /// Whether this client can't see the document any longer. Then ``document`` has only its id and revision, and is
    /// kept like a tombstone.
    private(set) var isLost: Bool
    /// The body as the gateway sent it. Empty: it must be read first.
    private(set) var document: [UInt8]
    private var mustBeRead = false
    /// Whether ``document`` was read by its id.
    private var wasRead = false
    /// The size of the document in bytes, as it was read or as it is expected.
    private(set) var byteCount: Int
    /// Its share of the memory budget in bytes, until its candidate is over. 0 before the document is read.
    private(set) var cost: Int
    /// The highest number of any dead letter when the document was read. Its decision does not resolve dead letters
    /// with higher numbers, because they may be about newer content.
    var highestDeadLetterNumber = Int.max
    /// The leaves of the document if there are several; nil if there is one, or if they have not been read yet.
    var conflict: Conflict?
    /// The rules whose `put` led to it, if known without reading the state.
    var chain: RuleChain?

    /// A document is in memory in three forms: as it was read, as the rules see it (without `_cv`), and as it is
    /// written.
    static let copies = 3

    /// The expected size of a document of unknown size.
    package static let usualBytes = 4096

    /// - Parameters:
    ///   - document: Empty: it must be read first.
    ///   - expectedBytes: The size of a document that must still be read, if known.
    package init(
        _ revision: RevisionID?, _ document: [UInt8] = [], isDeleted: Bool = false, isLost: Bool = false,
        expectedBytes: Int = 0
    ) {
        self.isLost = isLost
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        byteCount = max(document.count, expectedBytes)
        cost = Self.copies * document.count
    }

    /// Whether the document must be read first: the feed did not include it, or it may have changed since.
    var isUnread: Bool { mustBeRead || document.isEmpty }

    /// Whether it is unknown if the document expires, because it came from the feed or a list.
    var isExpiryUnknown: Bool { !wasRead && !isDeleted }

    /// Its revision, if it must be read for the members of its tombstone.
    var unreadTombstone: RevisionID? { isDeleted && document.isEmpty ? revision : nil }

    /// Sets the current document. ``cost`` becomes that of the document.
    mutating func set(_ revision: RevisionID, _ document: [UInt8], isDeleted: Bool = false) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        isLost = false
        byteCount = document.count
        cost = Self.copies * byteCount
        mustBeRead = false
        wasRead = true
        conflict = nil
        chain = nil
    }

    /// Drops the document, which is read again before it is decided. A tombstone is kept, since it may not be readable
    /// again.
    mutating func drop() {
        mustBeRead = true
        wasRead = false
        if !isDeleted { document = [] }
    }

    /// Frees the memory of a document that was decided, once its write is prepared or it is over.
    mutating func free() {
        if !isDeleted { document = [] }
    }

    /// - Returns: The bytes of the memory budget that it no longer holds.
    mutating func releaseBudget() -> Int {
        defer { cost = 0 }
        return cost
    }
}
