internal import GatewayClient

/// The documents that a feed has returned, and those that it returned again because they changed meanwhile.
///
/// Keeps only a 64-bit hash per id, so two ids may collide. The caller must check repeated documents exactly.
struct SeenDocuments: Sendable {
    private var hashes: Set<Int> = []
    private(set) var repeated: Set<Int> = []

    mutating func note(_ id: DocumentID) {
        let hash = id.hashValue
        if !hashes.insert(hash).inserted { repeated.insert(hash) }
    }

    /// Marks a document as repeated, for a line that supersedes an earlier one.
    mutating func noteRepeated(_ id: DocumentID) {
        note(id)
        repeated.insert(id.hashValue)
    }

    func contains(_ id: DocumentID) -> Bool { hashes.contains(id.hashValue) }

    func mayBeRepeated(_ id: DocumentID) -> Bool { repeated.contains(id.hashValue) }
}
