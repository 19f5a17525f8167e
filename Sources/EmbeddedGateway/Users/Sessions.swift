internal import Encodings
internal import NIOConcurrencyHelpers

/// Login sessions. Kept in memory, so they end with the process.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1: a session lasts 24 h and is renewed after a tenth of that.
final class Sessions: Sendable {
    struct Session {
        let user: String
        /// Seconds since 1970.
        var expires: Int
    }

    /// How long a session lasts, in seconds.
    static let duration = 24 * 60 * 60
    static let cookieName = "SyncGatewaySession"

    private let sessions = NIOLockedValueBox<[String: Session]>([:])
    private let now: @Sendable () -> Int

    init(now: @escaping @Sendable () -> Int = WritingRules().now) { self.now = now }

    /// - Returns: The new session's id, 160 random bits.
    func begin(for user: String) -> (id: String, expires: Int) {
        let id = (0..<20).map { _ in UInt8.random(in: .min ... .max) }.hex
        let time = now()
        sessions.withLockedValue { sessions in
            sessions = sessions.filter { $0.value.expires > time }
            sessions[id] = Session(user: user, expires: time + Self.duration)
        }
        return (id, time + Self.duration)
    }

    /// - Returns: The session's user, and its new end if it was renewed. Nil if there is no such session or it has
    ///   expired.
    func use(_ id: String) -> (user: String, renewedUntil: Int?)? {
        let time = now()
        return sessions.withLockedValue { sessions in
            guard let session = sessions[id], session.expires > time else {
                sessions[id] = nil
                return nil
            }
            guard session.expires - time < Self.duration / 10 * 9 else { return (session.user, nil) }
            sessions[id]?.expires = time + Self.duration
            return (session.user, time + Self.duration)
        }
    }

    func endAll() { sessions.withLockedValue { $0 = [:] } }

    func end(_ id: String) { sessions.withLockedValue { _ = $0.removeValue(forKey: id) } }

    /// The current time, for the cookie that deletes the session's cookie.
    var time: Int { now() }
}
