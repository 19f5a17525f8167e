internal import GatewayClient

/// What `doctor` looks at, in the order in which it reports. The raw values are stable, because scripts read them.
enum DoctorCheck: String, CaseIterable, Sendable {
    /// The only one that is about the program and not about a bot.
    case libraries
    case settings, reachability, tls, clock, gateway, login, feed, list, write, local, channels
    /// Whether documents expire, and their expiry is kept.
    case expiry
    /// A partitioned database takes only ids that name a partition.
    case ids
    /// Those that rules put documents into.
    case keyspaces
    /// Those that related documents need.
    case indexes
    /// Of a fleet.
    case engine
    case state, disk, rules, pictures
    /// What webhooks, downloads and `emit` need.
    case files
    /// The last one: it takes longest.
    case idle

    static let ofBot = allCases.filter { $0 != .libraries }
    /// Those that need a gateway that answers.
    static let ofGateway: [DoctorCheck] = [.clock, .gateway] + ofLogin
    /// Those that need a login.
    static let ofLogin: [DoctorCheck] = [.login] + afterLogin
    static let afterLogin: [DoctorCheck] = [
        .feed, .list, .write, .local, .channels, .expiry, .ids, .keyspaces, .indexes, .idle,
    ]
}

/// What a check has found, and what to do about it.
struct Finding: Sendable, Equatable {
    /// The raw values are stable, because scripts read them.
    enum Level: String, CaseIterable, Sendable {
        case ok
        /// The bot works, but worse than it could, or not for long.
        case warning
        /// The bot does not work.
        case error
        /// It can't be found out.
        case unknown
        /// It was not looked at: something before it failed, or nothing asks for it.
        case skipped
    }

    let level: Level
    /// One line: what is so.
    let text: String
    /// One line: what to do. Nil if there is nothing to do.
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
    /// A message that ends with the remedy, after a semicolon, as those of all commands do.
    ///
    /// - Parameter otherwise: The remedy for a message that names none.
    init(_ level: Level, message: String, otherwise: String? = nil) {
        let end = message.firstRange(of: "; ")
        self.init(
            level, end.map { String(message[..<$0.lowerBound]) } ?? message,
            remedy: end.map { String(message[$0.upperBound...]) } ?? otherwise)
    }

    /// An error of a request.
    ///
    /// - Parameters:
    ///   - consequence: What it means for the bot; put before the reason.
    ///   - otherwise: The remedy for an error that names none.
    init(_ level: Level, _ error: GatewayError, _ consequence: String? = nil, otherwise: String? = nil) {
        let parts = Finding(level, message: error.message, otherwise: otherwise)
        let status = error.status.map { " (HTTP \($0))" } ?? ""
        self.init(
            level, "\(consequence.map { $0 + ": " } ?? "")\(parts.text)\(status)", remedy: parts.remedy)
    }
}
