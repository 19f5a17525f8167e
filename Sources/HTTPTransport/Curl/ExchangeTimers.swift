/// When an exchange has to be over. A plain value: the loop asks for the nearest time, sleeps until then and asks again,
/// so a waiting longpoll costs nothing in between.
struct ExchangeTimers {
    typealias Instant = ContinuousClock.Instant
    typealias Due = (time: Instant, timeout: HTTPTransportError.Timeout)

    private var deadline: Instant?
    private let idleTimeout: Duration?
    private var lastActivity: Instant
    /// The reader keeps the transfer waiting: no silence of the server's.
    private var isPaused = false

    init(deadline: Duration?, idleTimeout: Duration?, now: Instant) {
        self.deadline = deadline.map { now + $0 }
        self.idleTimeout = idleTimeout
        lastActivity = now
    }

    var watchesActivity: Bool { idleTimeout != nil }

    /// Bytes have come or gone, or the transfer was paused or goes on.
    mutating func touch(at now: Instant, isPaused: Bool) {
        lastActivity = now
        self.isPaused = isPaused
    }

    /// The exchange has to be over by `deadline` now, whatever was said before.
    mutating func extend(to deadline: Instant) { self.deadline = deadline }

    /// What runs out first.
    var due: Due? {
        let idle = isPaused ? nil : idleTimeout.map { lastActivity + $0 }
        switch (deadline, idle) {
        case (nil, nil): return nil
        case (let deadline?, nil): return (deadline, .exchange)
        case (nil, let idle?): return (idle, .idle)
        case (let deadline?, let idle?): return idle < deadline ? (idle, .idle) : (deadline, .exchange)
        }
    }
}
