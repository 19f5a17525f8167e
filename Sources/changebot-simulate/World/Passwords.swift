/// The password of the bot's user at the gateway, and the one in the bot's settings.
struct Passwords {
    /// A process that ends waits for its requests. In nanoseconds.
    private static let longestRequest: Int64 = 130_000_000_000

    private(set) var gateway = "secret-0"
    private(set) var bot = "secret-0"
    /// Whether the settings are changed so late that the bot may end before.
    private(set) var isLate = false
    /// When a late change was made.
    private var lastLate: Int64 = .min / 2
    private var count = 0

    /// Whether the bot's is that of the gateway.
    var areEqual: Bool { gateway == bot }

    mutating func changeAtGateway(isLate: Bool) {
        count += 1
        gateway = "secret-\(count)"
        self.isLate = isLate
    }

    /// - Parameter uptime: The time, in nanoseconds.
    mutating func changeInSettings(at uptime: Int64) {
        bot = gateway
        if isLate { lastLate = uptime }
        isLate = false
    }

    /// Whether a process may end now, because its password is refused: at its start at once, later ten seconds after the
    /// first refusal.
    ///
    /// - Parameter uptime: The time, in nanoseconds.
    func mayEnd(_ process: BotProcess, at uptime: Int64) -> Bool {
        areEqual ? uptime - lastLate < Self.longestRequest : isLate || !process.hasFollowed
    }
}
