internal import HTTPTransport

/// A refused password is not sent again and again: the server may lock the account.
struct LoginCheck {
    private static let span = Duration.seconds(300).nanoseconds

    private struct Key: Hashable {
        let process: Int
        let credentials: HTTPCredentials
    }

    /// When it was first refused, and when it was sent after that.
    private var refusals: [Key: (first: Int64, later: [Int64])] = [:]

    /// The gateway refuses a request.
    ///
    /// - Parameter now: When it was sent.
    /// - Throws: ``Violation``.
    mutating func noteSent(_ credentials: HTTPCredentials, by process: Int, at now: Int64) throws {
        let key = Key(process: process, credentials: credentials)
        guard var entry = refusals[key], now > entry.first else { return }
        entry.later = entry.later.filter { now - $0 < Self.span } + [now]
        refusals[key] = entry
        let isFirstRecent = now - entry.first < Self.span
        guard entry.later.count + (isFirstRecent ? 1 : 0) > 2 else { return }
        throw Violation(
            guarantee: .logins, detail: "bot \(process) has sent a refused password three times in five minutes")
    }

    /// The bot has got the answer of a request that was refused.
    mutating func noteRefused(_ credentials: HTTPCredentials, of process: Int, at now: Int64) {
        let key = Key(process: process, credentials: credentials)
        if let entry = refusals[key], now - entry.first < Self.span { return }
        refusals[key] = (now, refusals[key]?.later ?? [])
    }
}
