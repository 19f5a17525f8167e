internal import Encodings

/// A revision's name, `GENERATION-DIGEST`.
struct RevisionID: Comparable, Sendable, CustomStringConvertible {
    let generation: Int
    let digest: String

    init(generation: Int, digest: String) {
        self.generation = generation
        self.digest = digest
    }

    /// Far beyond what any document reaches; one more still fits.
    static let largestGeneration = Int(Int32.max)

    /// Nil unless the text is a positive number, a hyphen and something behind it.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let generation = Int(parts[0]), !parts[1].isEmpty,
            (1...Self.largestGeneration).contains(generation), !text.utf8.contains(0)
        else { return nil }
        self.init(generation: generation, digest: String(parts[1]))
    }

    /// The revision that this body makes of `parent`: the same content always has the same name.
    ///
    /// - Parameter canonicalBody: The body without `_id`, `_rev` and `_attachments`, members sorted; a tombstone's with
    ///   `"_deleted":true`.
    /// - Note: Source: worked out from recorded answers of Sync Gateway 4.1.1 (`{"a":1}` is `1-36de1e87…` under any
    ///   id): MD5 over the length of the parent's name, that name, and the canonical body.
    init(after parent: RevisionID?, canonicalBody: [UInt8]) {
        let name = Array((parent?.description ?? "").utf8)
        generation = (parent?.generation ?? 0) + 1
        digest = Digest.md5.hex([UInt8(truncatingIfNeeded: name.count)] + name + canonicalBody)
    }

    /// By generation, then by the bytes of the digest.
    static func < (left: RevisionID, right: RevisionID) -> Bool {
        if left.generation != right.generation { return left.generation < right.generation }
        return left.digest.utf8.lexicographicallyPrecedes(right.digest.utf8)
    }

    var description: String { "\(generation)-\(digest)" }
}
