internal import GatewayClient
internal import Revisions

/// A cache of facts about recently read attachment files. Its memory is bounded.
struct AttachmentFileCache {
    struct Facts {
        /// The digest that the gateway would compute.
        var digest: AttachmentDigest?
        /// Nil unless the file is small.
        var base64: [UInt8]?
        /// Whether the file was used again since it was last moved to the end of the queue.
        fileprivate var isShared = false

        fileprivate var cost: Int { AttachmentFileCache.entryOverhead + (base64?.count ?? 0) }
    }

    /// In bytes. Larger files are streamed, or sending them takes longer than encoding them.
    static let maxCachedSize = 256 << 10
    /// The memory of an entry in addition to its base64, in bytes.
    static let entryOverhead = 512

    private let limit: Int
    private var facts: [String: Facts] = [:]
    /// The keys of ``facts``, oldest first, from ``first`` on.
    private var queue: [String] = []
    private var first = 0
    /// Memory in use, in bytes.
    private(set) var cost = 0

    /// - Parameter limit: In bytes.
    init(limit: Int = 4 << 20) { self.limit = limit }

    /// The known facts about a file. Empty if its length has changed: the file must be checked again.
    subscript(body: AttachmentBody) -> Facts {
        mutating get {
            let key = Self.key(body)
            facts[key]?.isShared = true
            return facts[key] ?? Facts()
        }
    }

    /// Updates the facts about a file, and evicts the oldest files that were not used again.
    mutating func note(_ body: AttachmentBody, _ change: (inout Facts) -> Void) {
        let key = Self.key(body)
        let before = facts[key]
        var now = before ?? Facts()
        change(&now)
        facts[key] = now
        cost += now.cost - (before?.cost ?? 0)
        if before == nil { queue.append(key) }
        while cost > limit { evictOldest() }
    }

    private mutating func evictOldest() {
        let key = queue[first]
        first += 1
        if facts[key]?.isShared == true {
            facts[key]?.isShared = false
            queue.append(key)
        } else {
            cost -= facts.removeValue(forKey: key)?.cost ?? 0
        }
        // Compact the queue once its consumed part is as long as the rest.
        guard first > queue.count / 2 else { return }
        queue.removeFirst(first)
        first = 0
    }

    private static func key(_ body: AttachmentBody) -> String { "\(body.sha256)-\(body.byteCount)" }
}
