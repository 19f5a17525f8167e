internal import CPCRE2

/// Aborts a match that takes too long.
///
/// - Note: Source: pcre2callout(3): a callout that returns a negative number aborts the match with that error.
final class MatchClock {
    static let limit: Duration = .seconds(2)
    /// The clock is read at every 16th start position in the text. The match limit applies to each start position.
    private static let places = 16

    private var count = 0
    private var begun: ContinuousClock.Instant?

    /// Must be called before each match.
    func reset() { (count, begun) = (0, nil) }

    /// - Parameter context: Must not outlive this object.
    func watch(_ context: OpaquePointer?) {
        pcre2_set_callout_8(
            context,
            { _, clock in
                guard let clock else { return 0 }
                let isOver = Unmanaged<MatchClock>.fromOpaque(clock).takeUnretainedValue().isOver()
                return isOver ? PCRE2_ERROR_CALLOUT : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func isOver() -> Bool {
        count += 1
        guard count.isMultiple(of: Self.places) else { return false }
        guard let begun else {
            begun = .now
            return false
        }
        return begun.duration(to: .now) > Self.limit
    }
}
