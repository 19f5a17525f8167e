internal import Encodings
internal import Glibc

/// What a service tells systemd, and when: decides the messages, sends none.
///
/// `READY=1` means that the process does its work: rules and configuration are valid, the state folder can be used, and
/// each bot follows its feed or waits for an unavailable gateway. Such a gateway must not keep the unit from
/// starting, because the bot waits for it anyway, and reports it in `STATUS`. What a start can't mend, such as a wrong
/// password, ends the process before.
///
/// - Note: Source: sd_notify(3), for systemd 252.
struct ServiceProtocol {
    /// The names of the bots that have neither begun nor ended; nil before they are known.
    private var awaited: Set<String>?
    private var isReady = false
    private var isStopping = false
    private var status = ""

    /// These bots are about to start.
    mutating func expect(_ bots: [String]) { awaited = Set(bots) }

    /// A bot follows its feed, waits for its gateway, or has ended.
    ///
    /// - Returns: The message for systemd; nil if there is none.
    mutating func noteStarted(_ bot: String) -> String? {
        guard !isReady, awaited?.remove(bot) != nil, awaited?.isEmpty == true else { return nil }
        isReady = true
        return "READY=1"
    }

    /// - Returns: Nil if systemd knows it already.
    mutating func show(status: String) -> String? {
        let line = Self.line(status)
        guard line != self.status else { return nil }
        self.status = line
        return "STATUS=\(line)"
    }

    /// Rules and configuration are about to be reloaded.
    ///
    /// - Parameter microseconds: On the monotonic clock.
    /// - Returns: Nil before the process is ready: the `READY=1` of the reload would be taken for that of the start.
    func reloading(at microseconds: Int) -> String? {
        guard isReady, !isStopping else { return nil }
        return "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
    }

    /// They were read, valid or not.
    func reloaded() -> String? { isReady && !isStopping ? "READY=1" : nil }

    /// The process finishes the work under way.
    ///
    /// - Parameter grace: The longest time that this takes. systemd waits as long, even if the unit says less.
    mutating func stopping(within grace: Duration) -> String? {
        guard !isStopping else { return nil }
        isStopping = true
        return "STOPPING=1\nEXTEND_TIMEOUT_USEC=\((grace + Self.margin).microseconds)"
    }

    /// For closing connections and writing summaries.
    private static let margin: Duration = .seconds(10)

    private static let longestLine = 500

    /// One line, cut where it is too long.
    private static func line(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ").visible
        return line.count > longestLine ? line.prefix(longestLine - 1) + "…" : line
    }
}

extension Duration {
    /// Rounded down; at most what systemd can count.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : product.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
    }
}
