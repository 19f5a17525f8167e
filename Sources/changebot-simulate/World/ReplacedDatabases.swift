/// The copy of the gateway's database, and when it was replaced.
struct ReplacedDatabases {
    /// Nanoseconds between two replacements: the bot does not notice those that follow each other within ten minutes.
    private static let pause: Int64 = 1_200_000_000_000

    /// Whether it is being replaced.
    private(set) var isOffline = false
    /// Whether the bot has not noticed yet that it was replaced.
    private(set) var isUnnoticed = false
    private var last: Int64 = .min / 2
    var copy: (gateway: SimulatedGateway.Copy, check: WriteCheck, marks: Int)?
    /// How often the bot was told that its mark is written.
    private(set) var marks = 0
    /// Whether the gateway ever lost marks. From then on the bot can't be sure to notice a reset.
    var hasLostMarks = false

    /// Whether the bot notices it. It knows that its mark was written since a copy, even if it was killed after the last
    /// time: see "A reset is noticed".
    ///
    /// - Parameters:
    ///   - isRestored: Whether the copy replaces it, not an empty database.
    ///   - uptime: The time, in nanoseconds.
    func mayBeReplaced(isRestored: Bool, at uptime: Int64) -> Bool {
        !hasLostMarks && !isUnnoticed && !isOffline && uptime - last > Self.pause
            && (!isRestored || copy.map { marks >= $0.marks + 2 } == true)
    }

    mutating func beginReplacement() { isOffline = true }

    /// - Parameter uptime: The time, in nanoseconds.
    mutating func endReplacement(at uptime: Int64) {
        (isOffline, isUnnoticed, last, copy) = (false, true, uptime, nil)
    }

    mutating func noteNoticed() { isUnnoticed = false }

    mutating func noteMark() { marks += 1 }
}
