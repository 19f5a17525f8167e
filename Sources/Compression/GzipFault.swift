/// Why a packed text can't be unpacked.
package enum GzipFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text does not begin as gzip does.
    case noHeader
    /// It ends within a header.
    case cutHeader
    /// It ends within the data or the checksum.
    case cut
    case corrupt
    /// What comes out is longer than it may be.
    case tooLong

    package var description: String {
        switch self {
        case .noHeader: "not gzip"
        case .cutHeader, .cut: "the gzip text is cut short"
        case .corrupt: "the gzip text is damaged"
        case .tooLong: "what the gzip text holds is too long"
        }
    }
}
