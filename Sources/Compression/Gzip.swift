/// Compresses and decompresses whole texts. For streams see ``GzipWriter`` and ``GzipReader``.
///
/// - Note: Source: RFC 1952; zlib 1.2.13.
package enum Gzip {
    /// At level 6. An empty text also becomes a complete gzip text.
    package static func pack(_ text: [UInt8]) -> [UInt8] { pack(segments: CollectionOfOne(text)) }

    /// Compresses all segments into one gzip text, at level 6.
    package static func pack(segments: some Sequence<[UInt8]>) -> [UInt8] {
        var writer = GzipWriter()
        var packed: [UInt8] = []
        for segment in segments { writer.write(segment, to: &packed) }
        writer.finish(to: &packed)
        return packed
    }

    /// Decompresses one gzip text, or several one after the other.
    ///
    /// - Parameter limit: The longest result to accept, in bytes: one megabyte can expand to a gigabyte.
    /// - Throws: ``GzipFault``; `.tooLong` if the result is longer than `limit`.
    package static func unpack(_ packed: [UInt8], limit: Int) throws(GzipFault) -> [UInt8] {
        var reader = GzipReader(limit: limit)
        var text: [UInt8] = []
        try reader.read(packed[...], to: &text)
        try reader.finish()
        return text
    }

    /// Whether a text begins with the two bytes that mark gzip.
    package static func isPacked(_ start: some Collection<UInt8>) -> Bool { start.starts(with: [0x1F, 0x8B]) }
}
