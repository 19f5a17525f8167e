internal import Encodings

/// Reads a body piece by piece: no more of its contents is in memory than one piece.
struct BodyPieces: Sendable {
    /// Longest piece, unless bytes that are in memory already are longer.
    static let limit = 1 << 20
    /// As much of a content as makes a whole piece in base64. SQLite reads a content from its beginning for each piece,
    /// so the pieces are not small.
    private static let contentLimit = limit / 4 * 3

    private let store: Store
    /// What is still to come, the next part last.
    private var parts: [BodyParts.Part]
    /// How much was read of the content that is next.
    private var offset = 0
    /// Bytes in memory that are still to come.
    private(set) var loadedLength: Int

    init(_ body: BodyParts, from store: Store) {
        self.store = store
        parts = body.parts.reversed()
        loadedLength = body.loadedLength
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: ``ConnectionCut`` if a content was removed since the body was made.
    mutating func next() throws -> [UInt8]? {
        guard var piece = try read(limit: nil) else { return nil }
        while let more = try read(limit: Self.limit - piece.count) { piece += more }
        return piece
    }

    /// What is next; nil at the end, or if it is longer than the limit.
    private mutating func read(limit: Int?) throws -> [UInt8]? {
        switch parts.last {
        case nil: return nil
        case .bytes(let bytes)?:
            if let limit, bytes.count > limit { return nil }
            parts.removeLast()
            loadedLength -= bytes.count
            return bytes
        case .content(let content, let form)?:
            let range = offset..<min(offset + Self.contentLimit, content.length)
            if let limit, form.length(of: range.count) > limit { return nil }
            guard let bytes = try store.attachmentContent(content.digest, range), bytes.count == range.count else {
                throw ConnectionCut()
            }
            offset = range.upperBound
            if offset == content.length {
                parts.removeLast()
                offset = 0
            }
            return form == .base64 ? Base64.encode(bytes) : bytes
        }
    }
}
