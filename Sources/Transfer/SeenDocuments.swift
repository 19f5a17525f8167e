internal import GatewayClient

/// Which documents a feed has brought, and which of them more than once: those changed while it was read.
///
/// Holds eight bytes for each, and so may take two documents for one: what is told twice is looked at closely later.
struct SeenDocuments: Sendable {
    private var hashes: Set<Int> = []
    private(set) var repeated: Set<Int> = []

    mutating func note(_ id: DocumentID) {
        let hash = id.hashValue
        if !hashes.insert(hash).inserted { repeated.insert(hash) }
    }

    /// For a line that only makes sense behind another one of the same document.
    mutating func noteRepeated(_ id: DocumentID) {
        note(id)
        repeated.insert(id.hashValue)
    }

    func contains(_ id: DocumentID) -> Bool { hashes.contains(id.hashValue) }

    func mayBeRepeated(_ id: DocumentID) -> Bool { repeated.contains(id.hashValue) }
}
