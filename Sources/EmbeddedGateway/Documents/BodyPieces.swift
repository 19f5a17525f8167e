internal import Encodings
internal import HTTPServing

/// Reads a body piece by piece, so that at most one piece of its contents is in memory.
struct BodyPieces: Sendable {
    /// The maximum number of bytes of a piece, except for bytes that are already in memory.
    static let limit = 1 << 20
    /// Bytes of content that fill a piece when encoded as base64. Not small, because SQLite reads a blob from its start
    /// for each piece.
    private static let contentLimit = limit / 4 * 3

    private let store: Store
    /// The remaining parts, next one last.
    private var parts: [BodyParts.Part]
    /// The number of bytes of the next content that were read.
    private var offset = 0
    /// The bytes in memory that have not been read yet.
    private(set) var loadedLength: Int

    init(_ body: BodyParts, from store: Store) {
        self.store = store
        parts = body.parts.reversed()
        loadedLength = body.loadedLength
    }

    /// The next piece. Nil at the end.
    ///
    /// - Throws: `ConnectionCut` if a content was removed after the body was created.
    mutating func next() throws -> [UInt8]? {
        guard var piece = try read(limit: nil) else { return nil }
        while let more = try read(limit: Self.limit - piece.count) { piece += more }
        return piece
    }

    /// The next bytes. Nil at the end, or if they exceed the limit.
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
