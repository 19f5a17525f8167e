internal import Encodings

/// A revision id, `GENERATION-DIGEST`.
struct StoredRevisionID: Comparable, Sendable, CustomStringConvertible {
    let generation: Int
    let digest: String

    init(generation: Int, digest: String) {
        self.generation = generation
        self.digest = digest
    }

    /// Far more than any document reaches. Adding one can't overflow.
    static let maxGeneration = Int(Int32.max)

    /// Nil unless the text is a positive number, a hyphen and at least one more character.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let generation = Int(parts[0]), !parts[1].isEmpty,
            (1...Self.maxGeneration).contains(generation), !text.utf8.contains(0)
        else { return nil }
        self.init(generation: generation, digest: String(parts[1]))
    }

    /// The revision that this body creates from `parent`: the same content always gets the same id.
    ///
    /// - Parameter canonicalBody: The body without `_id`, `_rev` and `_attachments`, members sorted; for a tombstone
    ///   with
    ///   `"_deleted":true`.
    /// - Note: Source: derived from recorded answers of Sync Gateway 4.1.1 (`{"a":1}` is `1-36de1e87…` under any id):
    ///   MD5 of the length of the parent's id, that id, and the canonical body.
    init(after parent: StoredRevisionID?, canonicalBody: [UInt8]) {
        let name = Array((parent?.description ?? "").utf8)
        generation = (parent?.generation ?? 0) + 1
        digest = Digest.md5.hex([UInt8(truncatingIfNeeded: name.count)] + name + canonicalBody)
    }

    /// By generation, then by the bytes of the digest.
    static func < (left: StoredRevisionID, right: StoredRevisionID) -> Bool {
        if left.generation != right.generation { return left.generation < right.generation }
        return left.digest.utf8.lexicographicallyPrecedes(right.digest.utf8)
    }

    var description: String { "\(generation)-\(digest)" }
}
