/// Compresses and decompresses whole texts. For streams see ``GzipWriter`` and ``GzipReader``.
///
/// - Note: Source: RFC 1952; zlib 1.2.13.
package enum Gzip {
    /// At level 6. An empty text also becomes a complete gzip text.
    package static func compress(_ text: [UInt8]) -> [UInt8] { compress(segments: CollectionOfOne(text)) }

    /// Compresses all segments into one gzip text.
    ///
    /// - Parameter level: As for ``GzipWriter/init(level:)``.
    package static func compress(
        segments: some Sequence<[UInt8]>, level: Int32 = GzipWriter.defaultLevel
    ) -> [UInt8] {
        var writer = GzipWriter(level: level)
        var compressed: [UInt8] = []
        for segment in segments { writer.write(segment, to: &compressed) }
        writer.finish(to: &compressed)
        return compressed
    }

    /// Decompresses one gzip text, or several one after the other.
    ///
    /// - Parameter limit: The longest result to accept, in bytes: one megabyte can expand to a gigabyte.
    /// - Throws: ``GzipError``; `.tooLong` if the result is longer than `limit`.
    package static func decompress(_ compressed: [UInt8], limit: Int) throws(GzipError) -> [UInt8] {
        var reader = GzipReader(limit: limit)
        var text: [UInt8] = []
        try reader.read(compressed[...], to: &text)
        try reader.finish()
        return text
    }

    /// Whether a text begins with the two bytes that mark gzip.
    package static func isCompressed(_ start: some Collection<UInt8>) -> Bool { start.starts(with: [0x1F, 0x8B]) }
}
