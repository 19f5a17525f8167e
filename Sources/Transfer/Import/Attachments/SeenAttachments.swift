internal import GatewayClient
internal import Revisions

/// What is known of the files of attachments that were read lately. Takes bounded memory.
struct SeenAttachments {
    struct Facts {
        /// As the gateway computes it.
        var digest: AttachmentDigest?
        /// Nil unless the file is small.
        var base64: [UInt8]?
        /// Whether the file was needed again since it was last at the end of the queue.
        fileprivate var isShared = false

        fileprivate var cost: Int { SeenAttachments.costOfEach + (base64?.count ?? 0) }
    }

    /// In bytes. Larger files are streamed, or take longer to send than to encode.
    static let largestKept = 256 << 10
    /// What an entry takes besides its base64.
    static let costOfEach = 512

    private let limit: Int
    private var facts: [String: Facts] = [:]
    /// The keys of ``facts``, oldest first, from ``first`` on.
    private var queue: [String] = []
    private var first = 0
    /// In bytes.
    private(set) var cost = 0

    /// - Parameter limit: In bytes.
    init(limit: Int = 4 << 20) { self.limit = limit }

    /// What is known of a file; nothing if its length is not what it was: it has to be checked again.
    subscript(body: AttachmentBody) -> Facts {
        mutating get {
            let key = Self.key(body)
            facts[key]?.isShared = true
            return facts[key] ?? Facts()
        }
    }

    /// Adds to what is known of a file, and forgets the oldest files that were not needed again.
    mutating func note(_ body: AttachmentBody, _ change: (inout Facts) -> Void) {
        let key = Self.key(body)
        let before = facts[key]
        var now = before ?? Facts()
        change(&now)
        facts[key] = now
        cost += now.cost - (before?.cost ?? 0)
        if before == nil { queue.append(key) }
        while cost > limit { forgetOne() }
    }

    private mutating func forgetOne() {
        let key = queue[first]
        first += 1
        if facts[key]?.isShared == true {
            facts[key]?.isShared = false
            queue.append(key)
        } else {
            cost -= facts.removeValue(forKey: key)?.cost ?? 0
        }
        // The consumed part may be as long as the rest.
        guard first > queue.count / 2 else { return }
        queue.removeFirst(first)
        first = 0
    }

    private static func key(_ body: AttachmentBody) -> String { "\(body.sha256)-\(body.byteCount)" }
}
