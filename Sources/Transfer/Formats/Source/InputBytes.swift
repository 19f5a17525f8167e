internal import Compression

/// The bytes of an input as they come, unpacked if they are gzip: the first two bytes tell.
struct InputBytes: ~Copyable {
    /// gzip packs a thousand to one at most: what comes out of one stretch is no more than 8 MiB.
    private static let stretch = 8 << 10

    private let nextPiece: () throws(SourceError) -> [UInt8]?
    private var gzip: GzipReader?
    /// Packed bytes that were read and not unpacked.
    private var packed: ArraySlice<UInt8> = []
    private var hasBegun = false
    /// Bytes that came in, packed or not.
    private(set) var bytesRead = 0

    /// - Parameter nextPiece: The next bytes, as many or few as there are; nil at the end.
    init(_ nextPiece: @escaping () throws(SourceError) -> [UInt8]?) { self.nextPiece = nextPiece }

    /// Appends the next bytes to `text`, at least one.
    ///
    /// - Returns: False at the end.
    /// - Throws: `.unreadable`, `.packed`, without a place; what could be unpacked before has been appended.
    mutating func read(into text: inout [UInt8]) throws(SourceError) -> Bool {
        let count = text.count
        while text.count == count {
            if packed.isEmpty {
                guard var piece = try nextNonEmptyPiece() else { return try finish() }
                if !hasBegun {
                    hasBegun = true
                    while piece.count < 2, let more = try nextNonEmptyPiece() { piece += more }
                    if Gzip.isPacked(piece) { gzip = GzipReader() }
                }
                guard gzip != nil else {
                    text.append(contentsOf: piece)
                    return true
                }
                packed = piece[...]
            }
            try unpack(into: &text)
        }
        return true
    }

    private mutating func unpack(into text: inout [UInt8]) throws(SourceError) {
        let stretch = packed.prefix(Self.stretch)
        packed = packed.dropFirst(Self.stretch)
        do throws(GzipFault) { try gzip?.read(stretch, to: &text) } catch {
            throw SourceError(.packed(error), at: TextPlace())
        }
    }

    private func finish() throws(SourceError) -> Bool {
        do throws(GzipFault) { try gzip?.finish() } catch { throw SourceError(.packed(error), at: TextPlace()) }
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
