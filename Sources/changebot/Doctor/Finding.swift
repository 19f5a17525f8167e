internal import GatewayClient

/// The checks of `doctor`, in the order in which they are reported. The raw values are stable: scripts read them.
enum DoctorCheck: String, CaseIterable, Sendable {
    /// The only check of the program itself instead of a bot.
    case libraries
    case settings
    /// Whether the databases of a bot that follows many can be listed, watched and read.
    case databases
    case reachability, tls, clock, gateway, login, feed, list, write, local, channels
    /// Whether documents expire, and whether the bot keeps their expiry.
    case expiry
    /// Whether rules write ids without a partition to a partitioned database.
    case ids
    /// The keyspaces that rules put documents into.
    case keyspaces
    /// The indexes that related documents need.
    case indexes
    /// The engine of a fleet.
    case engine
    case state, disk, rules, pictures
    /// The files that webhooks, downloads and `emit` need.
    case files
    /// Proxies that cut idle requests. Last, because it takes longest.
    case idle

    static let botChecks = allCases.filter { $0 != .libraries }
    /// The checks that need a gateway that answers.
    static let gatewayChecks: [DoctorCheck] = [.clock, .gateway] + loginChecks
    /// The checks that need a login.
    static let loginChecks: [DoctorCheck] = [.login] + afterLogin
    static let afterLogin: [DoctorCheck] = [
        .feed, .list, .write, .local, .channels, .expiry, .ids, .keyspaces, .indexes, .idle,
    ]
}

/// What a check has found, and what to do about it.
struct Finding: Sendable, Equatable {
    /// The raw values are stable: scripts read them.
    enum Level: String, CaseIterable, Sendable {
        case ok
        /// The bot works, but not as well as it could, or will stop working.
        case warning
        /// The bot does not work.
        case error
        /// The check could not find out.
        case unknown
        /// The check was not run: an earlier one failed, or nothing requires it.
        case skipped
    }

    let level: Level
    /// What the check has found, in one line.
    let text: String
    /// What to do, in one line. Nil if there is nothing to do.
    let remedy: String?

    init(_ level: Level, _ text: String, remedy: String? = nil) {
        self.level = level
        self.text = text
        self.remedy = remedy
    }

    static func ok(_ text: String) -> Finding { Finding(.ok, text) }
    static func skipped(_ text: String) -> Finding { Finding(.skipped, text) }
}

extension Finding {
    /// A finding from a message that ends with its remedy after a semicolon, like those of all commands.
    ///
    /// - Parameter otherwise: The remedy if the message has none.
    init(_ level: Level, message: String, otherwise: String? = nil) {
        let end = message.firstRange(of: "; ")
        self.init(
            level, end.map { String(message[..<$0.lowerBound]) } ?? message,
            remedy: end.map { String(message[$0.upperBound...]) } ?? otherwise)
    }

    /// A finding from a failed request.
    ///
    /// - Parameters:
    ///   - consequence: What the error means for the bot; written before the reason.
    ///   - otherwise: The remedy if the error has none.
    init(_ level: Level, _ error: GatewayError, _ consequence: String? = nil, otherwise: String? = nil) {
        let parts = Finding(level, message: error.message, otherwise: otherwise)
        let status = error.status.map { " (HTTP \($0))" } ?? ""
        self.init(
            level, "\(consequence.map { $0 + ": " } ?? "")\(parts.text)\(status)", remedy: parts.remedy)
    }
}
