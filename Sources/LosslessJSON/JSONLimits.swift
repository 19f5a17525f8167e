/// How large a text may be before it is refused.
public struct JSONLimits: Sendable {
    /// Open containers at one place. The scanner itself does not recurse; the limit is for what comes after it.
    public var depth: Int
    /// Bytes of one scanned text. More than `UInt32.max`, the reach of the tape, counts as that.
    public var length: Int

    public init(depth: Int = 10_000, length: Int = 1 << 30) {
        self.depth = depth
        self.length = length
    }

    /// What gateways may send: deeper than any of them stores, so that no document can stop a feed.
    public static let documents = JSONLimits()
    /// What people write by hand: rule files, settings.
    public static let files = JSONLimits(depth: 256, length: 64 << 20)
}
