/// Whole texts to and from gzip. For streams see ``GzipWriter`` and ``GzipReader``.
///
/// - Note: Source: RFC 1952; zlib 1.2.13.
package enum Gzip {
    package static func pack(_ text: [UInt8]) -> [UInt8] { pack(segments: CollectionOfOne(text)) }

    /// One packed text of all segments.
    package static func pack(segments: some Sequence<[UInt8]>) -> [UInt8] {
        var writer = GzipWriter()
        var packed: [UInt8] = []
        for segment in segments { writer.write(segment, to: &packed) }
        writer.finish(to: &packed)
        return packed
    }

    /// - Parameters:
    ///   - packed: One gzip text, or several one after the other.
    ///   - limit: Most bytes that may come out: a few kilobytes can hold gigabytes.
    package static func unpack(_ packed: [UInt8], limit: Int) throws(GzipFault) -> [UInt8] {
        var reader = GzipReader(limit: limit)
        var text: [UInt8] = []
        try reader.read(packed[...], to: &text)
        try reader.finish()
        return text
    }

    /// Whether a text begins as gzip does. The first two bytes tell.
    package static func isPacked(_ start: some Collection<UInt8>) -> Bool { start.starts(with: [0x1F, 0x8B]) }
}
