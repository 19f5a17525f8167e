internal import Encodings
internal import Glibc

/// Decides what a service tells systemd, and when. Does no I/O.
///
/// `READY=1` means that the process is working: rules and configuration are valid, the state folder can be used, and
/// each bot follows its feed or waits for an unavailable gateway. An unavailable gateway must not keep the unit from
/// starting, because the bot waits for it and reports it in `STATUS`. Errors that waiting can't fix, such as a wrong
/// password, end the process first.
///
/// - Note: Source: sd_notify(3), for systemd 252.
struct ServiceProtocol {
    /// The names of the bots that have neither started nor ended; nil before they are known.
    private var awaited: Set<String>?
    private var isReady = false
    private var isStopping = false
    private var status = ""

    /// Notes that these bots are about to start.
    mutating func expect(_ bots: [String]) { awaited = Set(bots) }

    /// Notes that a bot follows its feed, waits for its gateway, or has ended.
    ///
    /// - Returns: The message for systemd; nil if there is none.
    mutating func noteStarted(_ bot: String) -> String? {
        guard !isReady, awaited?.remove(bot) != nil, awaited?.isEmpty == true else { return nil }
        isReady = true
        return "READY=1"
    }

    /// Sets the status.
    ///
    /// - Returns: The message for systemd; nil if the status is unchanged.
    mutating func show(status: String) -> String? {
        let line = Self.line(status)
        guard line != self.status else { return nil }
        self.status = line
        return "STATUS=\(line)"
    }

    /// Announces that rules and configuration are about to be reloaded.
    ///
    /// - Parameter microseconds: The time on the monotonic clock.
    /// - Returns: The message for systemd. Nil before the process is ready, because systemd would mistake the reload's
    ///   `READY=1` for that of the start.
    func reloading(at microseconds: Int) -> String? {
        guard isReady, !isStopping else { return nil }
        return "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
    }

    /// Announces that they were read, valid or not.
    func reloaded() -> String? { isReady && !isStopping ? "READY=1" : nil }

    /// Announces that the process is finishing the current work.
    ///
    /// - Parameter grace: The longest time that this takes. systemd waits that long, even if the unit's timeout is
    ///   shorter.
    mutating func stopping(within grace: Duration) -> String? {
        guard !isStopping else { return nil }
        isStopping = true
        return "STOPPING=1\nEXTEND_TIMEOUT_USEC=\((grace + Self.margin).microseconds)"
    }

    /// Extra time for closing connections and writing summaries.
    private static let margin: Duration = .seconds(10)

    private static let maxLineLength = 500

    /// The text on one line, truncated if it is too long.
    private static func line(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ").visible
        return line.count > maxLineLength ? line.prefix(maxLineLength - 1) + "…" : line
    }
}

extension Duration {
    /// Rounded down, and capped at the largest integer.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : product.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
    }
}
