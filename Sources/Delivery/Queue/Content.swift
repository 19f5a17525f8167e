internal import BotState
package import GatewayClient
internal import Rules

/// What is known of a candidate's document, until it is read again.
package struct Content: Sendable {
    /// The revision of ``document``: from the change, or from reading it again.
    var revision: RevisionID?
    /// Whether ``document`` is a tombstone.
    var isDeleted: Bool
    /// The body, as the gateway sent it. Empty: it must be read first.
    private(set) var document: [UInt8]
    private var mustBeRead = false
    /// Whether ``document`` was read by its id.
    private var wasRead = false
    /// Bytes of the document as it was read, or as it is expected to be.
    private(set) var byteCount: Int
    /// Its share of the memory budget, in bytes, until its candidate is over. Nothing before the document is read.
    private(set) var cost: Int
    /// The highest number of any dead letter when the document was read. Its decision does not resolve dead letters with
    /// higher numbers: they may be about newer content.
    var highestDeadLetterNumber = Int.max
    /// The leaves of the document, if there are several; nil if there are not, or if they have not been read yet.
    var conflict: Conflict?
    /// The rules whose `put` led to it, if that is known without asking the state.
    var chain: RuleChain?

    /// A document is in memory as it was read, as the rules see it (without `_cv`), and as it is written.
    static let copies = 3

    /// The size that a document of unknown size is expected to have.
    package static let usualBytes = 4096

    /// - Parameters:
    ///   - document: Empty: it must be read first.
    ///   - expectedBytes: The size of a document that is still to be read, as far as it is known.
    package init(_ revision: RevisionID?, _ document: [UInt8] = [], isDeleted: Bool = false, expectedBytes: Int = 0) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        byteCount = max(document.count, expectedBytes)
        cost = Self.copies * document.count
    }

    /// Whether the document must be read first: the feed did not bring it, or it may have changed since.
    var isUnread: Bool { mustBeRead || document.isEmpty }

    /// Whether it is unknown if the document expires: the feed or a list brought it.
    var lacksExpiry: Bool { !wasRead && !isDeleted }

    /// Its revision, if that must be read to know the members of its tombstone.
    var unreadTombstone: RevisionID? { isDeleted && document.isEmpty ? revision : nil }

    /// Sets the document as it is now. ``cost`` becomes that of the document.
    mutating func set(_ revision: RevisionID, _ document: [UInt8], isDeleted: Bool = false) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        byteCount = document.count
        cost = Self.copies * byteCount
        mustBeRead = false
        wasRead = true
        conflict = nil
        chain = nil
    }

    /// Drops the document: it is read again before it is decided. A tombstone is kept, since it may not be read again.
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
