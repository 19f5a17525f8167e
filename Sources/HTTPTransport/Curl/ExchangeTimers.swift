internal import Encodings

/// The time limits of an exchange. A plain value: the loop asks for the next due time, sleeps until then and checks, so
/// a waiting longpoll costs nothing.
struct ExchangeTimers {
    typealias Instant = ContinuousClock.Instant

    private let begun: Instant
    private var deadline: Instant?
    private let idleTimeout: Duration?
    private let sendsBody: Bool
    private var lastActivity: Instant
    /// The transfer is paused because this program must take or provide bytes. The idle timeout does not run.
    private var isPaused = false
    /// How many bytes the server had acknowledged after half of the idle timeout.
    private var acknowledgedHalfway: Int?

    /// - Parameter sendsBody: Whether there is a body to send. Its bytes may wait in the kernel and move over a slow
    ///   network without any callback.
    init(deadline: Duration?, idleTimeout: Duration?, sendsBody: Bool = false, now: Instant) {
        begun = now
        self.deadline = deadline.map { now + $0 }
        self.idleTimeout = idleTimeout
        self.sendsBody = sendsBody
        lastActivity = now
    }

    var watchesActivity: Bool { idleTimeout != nil }

    /// Records that bytes have moved, or that the transfer was paused or continues.
    mutating func noteActivity(at now: Instant, isPaused: Bool) {
        lastActivity = now
        acknowledgedHalfway = nil
        self.isPaused = isPaused
    }

    /// Replaces the deadline, even with an earlier one.
    mutating func extend(to deadline: Instant) { self.deadline = deadline }

    /// When to check next; nil if nothing is timed.
    var due: Instant? {
        guard let idleTimeout, !isPaused else { return deadline }
        let checksHalfway = sendsBody && acknowledgedHalfway == nil
        let idle = lastActivity + (checksHalfway ? idleTimeout / 2 : idleTimeout)
        return deadline.map { min($0, idle) } ?? idle
    }

    /// The limit that was reached; nil if there is none.
    ///
    /// - Parameter acknowledged: How many bytes of the request the server's side has acknowledged; nil if unknown.
    mutating func timeout(at now: Instant, acknowledged: @autoclosure () -> Int?) -> HTTPTransportError.Timeout? {
        if let deadline, deadline <= now { return .exchange }
        guard let idleTimeout, !isPaused else { return nil }
        let silence = lastActivity.duration(to: now)
        if sendsBody, silence >= idleTimeout / 2 {
            let count = acknowledged() ?? 0
            guard let before = acknowledgedHalfway else {
                acknowledgedHalfway = count
                return silence >= idleTimeout ? .idle : nil
            }
            if count > before {
                noteActivity(at: now, isPaused: false)
                return nil
            }
        }
        return silence >= idleTimeout ? .idle : nil
    }

    /// A message for the user.
    func message(of timeout: HTTPTransportError.Timeout) -> String {
        switch timeout {
        case .idle: "no data was sent or received for \((idleTimeout?.wholeSeconds ?? 0).counted("second"))"
        case .exchange:
            "no complete answer within \(begun.duration(to: deadline ?? begun).wholeSeconds.counted("second"))"
        case .connect: "no connection in time"
        }
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int64 { components.seconds }
}
