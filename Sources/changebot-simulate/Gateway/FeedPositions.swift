internal import GatewayClient

/// How the sequences of a feed look, and what they mean: how many changes of each shard it has passed.
struct FeedPositions {
    let dialect: GatewayDialect
    /// Sync Gateway has one order of changes. CouchDB's shards advance separately.
    var shardCount: Int { dialect == .couchDB ? 2 : 1 }

    /// The shard of a document.
    func shard(of id: String) -> Int { Int(id.utf8.reduce(0) { ($0 &* 31 &+ UInt64($1)) % 65_537 }) % shardCount }

    /// JSON text. CouchDB's is opaque: its texts for one position can differ.
    ///
    /// - Parameters:
    ///   - lowest: If Sync Gateway waits for a skipped sequence, the one before it: a reader continues there.
    ///   - salt: Any number.
    func json(_ position: [Int], lowest: Int? = nil, salt: UInt64) -> String {
        guard dialect == .couchDB else {
            guard let lowest, lowest < position[0] else { return String(position[0]) }
            return "\"\(lowest)::\(position[0])\""
        }
        let parts = position.map { String($0, radix: 36) }.joined(separator: ".")
        return "\"\(position.reduce(0, +))-g1\(String(salt % 65_536, radix: 36))_\(parts)\""
    }

    /// - Parameter text: A sequence with or without its quotes. Nil if it is none of this feed.
    func position(_ text: String) -> [Int]? {
        let text = text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
        guard dialect == .couchDB, text != "0" else {
            let lowest = text.split(separator: ":").first.map(String.init) ?? text
            return Int(lowest).map { [Int](repeating: $0, count: shardCount) }
        }
        guard let start = text.lastIndex(of: "_") else { return nil }
        let parts = text[text.index(after: start)...].split(separator: ".").compactMap { Int($0, radix: 36) }
        return parts.count == shardCount ? parts : nil
    }
}
