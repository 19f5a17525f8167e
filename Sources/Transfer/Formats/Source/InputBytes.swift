internal import Compression

/// The bytes of an input as they arrive; decompressed if the first two bytes are those of gzip.
struct InputBytes: ~Copyable {
    /// Compressed bytes per step: at gzip's best ratio of a thousand to one, that gives at most 8 MiB.
    private static let stretch = 8 << 10

    private let nextPiece: () throws(SourceError) -> [UInt8]?
    private var gzip: GzipReader?
    /// Compressed bytes that were read but not decompressed.
    private var compressed: ArraySlice<UInt8> = []
    private var hasBegun = false
    /// Bytes received, compressed or not.
    private(set) var bytesRead = 0

    /// - Parameter nextPiece: Returns the next bytes, in pieces of any size; nil at the end.
    init(_ nextPiece: @escaping () throws(SourceError) -> [UInt8]?) { self.nextPiece = nextPiece }

    /// Appends the next bytes to `text`, at least one.
    ///
    /// - Returns: False at the end.
    /// - Throws: `.unreadable` or `.compressed`, without a place; what could be decompressed before is appended.
    mutating func read(into text: inout [UInt8]) throws(SourceError) -> Bool {
        let count = text.count
        while text.count == count {
            if compressed.isEmpty {
                guard var piece = try nextNonEmptyPiece() else { return try finish() }
                if !hasBegun {
                    hasBegun = true
                    while piece.count < 2, let more = try nextNonEmptyPiece() { piece += more }
                    if Gzip.isCompressed(piece) { gzip = GzipReader() }
                }
                guard gzip != nil else {
                    text.append(contentsOf: piece)
                    return true
                }
                compressed = piece[...]
            }
            try decompress(into: &text)
        }
        return true
    }

    private mutating func decompress(into text: inout [UInt8]) throws(SourceError) {
        let stretch = compressed.prefix(Self.stretch)
        compressed = compressed.dropFirst(Self.stretch)
        do throws(GzipError) { try gzip?.read(stretch, to: &text) } catch {
            throw SourceError(.compressed(error), at: TextPlace())
        }
    }

    private func finish() throws(SourceError) -> Bool {
        do throws(GzipError) { try gzip?.finish() } catch { throw SourceError(.compressed(error), at: TextPlace()) }
        return false
    }

    private mutating func nextNonEmptyPiece() throws(SourceError) -> [UInt8]? {
        while let piece = try nextPiece() {
            bytesRead += piece.count
            if !piece.isEmpty { return piece }
        }
        return nil
    }
}
