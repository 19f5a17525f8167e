/// The limits of size and depth beyond which a text is refused.
public struct JSONLimits: Sendable {
    /// The maximum nesting depth of containers. The scanner does not recurse; the limit protects later code that does.
    public var depth: Int
    /// Bytes of one scanned text. Values above `UInt32.max - 1`, the range of the tape, are reduced to it.
    public var length: Int

    /// Default: 10,000 levels and 1 GiB.
    public init(depth: Int = 10_000, length: Int = 1 << 30) {
        self.depth = depth
        self.length = length
    }

    /// For texts from gateways: deeper than any gateway stores, so that no document can stop a feed.
    public static let documents = JSONLimits()
    /// For files that people write, such as rules and settings: 256 levels and 64 MiB.
    public static let files = JSONLimits(depth: 256, length: 64 << 20)
}
