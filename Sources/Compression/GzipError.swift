/// Why a gzip text can't be decompressed.
package enum GzipError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It does not begin with a gzip header.
    case noHeader
    /// It is empty, or ends within a header.
    case cutHeader
    /// It ends within the data or the checksum.
    case cut
    case corrupt
    /// The result is longer than the limit.
    case tooLong

    /// The cause without the place, for messages.
    package var description: String {
        switch self {
        case .noHeader: "not gzip"
        case .cutHeader, .cut: "the gzip data is cut short"
        case .corrupt: "the gzip data is damaged"
        case .tooLong: "the decompressed data is too long"
        }
    }
}
