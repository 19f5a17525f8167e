internal import Compression
internal import Encodings

/// The text of an input as it arrives, in UTF-8. Input that begins with gzip's two magic bytes is decompressed; UTF-16
/// is converted.
struct InputBytes: ~Copyable {
    /// Compressed bytes per step. At gzip's best ratio of 1000:1, a step gives at most 8 MiB.
    private static let stepBytes = 8 << 10

    private let nextPiece: () throws(SourceError) -> [UInt8]?
    private var gzip: GzipReader?
    /// Compressed bytes that were read but not decompressed.
    private var compressed: ArraySlice<UInt8> = []
    private var hasBegun = false
    private var decoder: UTF16Decoder?
    private var isEncodingKnown = false
    /// Bytes received, compressed or not.
    private(set) var bytesRead = 0
    /// Bytes of the text so far.
    private(set) var textCount = 0
    /// The bytes received that are already converted to text.
    var bytesDecoded: Int { bytesRead - compressed.count }

    /// - Parameter nextPiece: Returns the next bytes, in pieces of any size; nil at the end.
    init(_ nextPiece: @escaping () throws(SourceError) -> [UInt8]?) { self.nextPiece = nextPiece }

    /// Appends the next bytes to `text`, at least one.
    ///
    /// - Returns: False at the end.
    /// - Throws: `.unreadable`, `.compressed` or `.encoding`, without a place. Text before the error is appended.
    mutating func read(into text: inout [UInt8]) throws(SourceError) -> Bool {
        let count = text.count
        defer { textCount += text.count - count }
        guard isEncodingKnown else { return try readFirst(into: &text) }
        guard decoder != nil else { return try readBytes(into: &text) }
        while text.count == count {
            var bytes: [UInt8] = []
            guard try readBytes(into: &bytes) else {
                try decoder?.finish()
                return false
            }
            try decoder?.decode(bytes, into: &text)
        }
        return true
    }

    /// Reads until the encoding is known, which requires four bytes.
    private mutating func readFirst(into text: inout [UInt8]) throws(SourceError) -> Bool {
        isEncodingKnown = true
        var bytes: [UInt8] = []
        do throws(SourceError) {
            while bytes.count < WideEncoding.headCount, try readBytes(into: &bytes) {}
        } catch {
            text += bytes
            throw error
        }
        decoder = try UTF16Decoder(head: bytes)
        guard decoder != nil else {
            text += bytes
            return !bytes.isEmpty
        }
        try decoder?.decode(bytes, into: &text)
        return true
    }

    /// Appends the next bytes after decompression, at least one. False at the end.
    private mutating func readBytes(into text: inout [UInt8]) throws(SourceError) -> Bool {
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
        let step = compressed.prefix(Self.stepBytes)
        compressed = compressed.dropFirst(Self.stepBytes)
        do throws(GzipError) { try gzip?.read(step, to: &text) } catch {
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
