internal import Glibc

/// How fast a receiver of webhooks, or a server of attachments, takes requests, and so who may wait for a place and who is to come back later.
///
/// A value without a clock: the caller passes the time. A receiver that answers soon has all that is there waiting for
/// it. One that answers late must not keep the changes that wait for it in memory, or others from being read: what would
/// wait for more than ``longestWait`` is sent away, each with a turn of its own.
struct ReceiverPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Nobody waits longer for a place, as far as is known.
    static let longestWait: Duration = .seconds(1)
    /// What comes back at its turn may wait so much longer: a turn is only a guess.
    private static let patience = 2
    /// Who is sent away comes back after this time at the latest: the receiver may be fast again by then.
    private static let longestAbsence: Duration = .seconds(5)
    /// If many are away, that takes longer: so long for each of them.
    private static let absenceOfEach: Duration = .milliseconds(10)
    /// Those that come back within such a time do so together: their documents are read at once.
    private static let returnsTogether = 0.5
    /// The weight of the newest answer in ``usual``.
    private static let weight = 0.125

    /// Requests at a time.
    private let places: Int
    /// The geometric mean of the newest requests' times, so that one that hangs says little. Nil: none has ended yet.
    private var usual: Double?
    /// When the requests under way began.
    private var begun: [Instant] = []
    /// How many come back in each second from ``start`` on.
    private var returns: [Int: Int] = [:]
    private var absentees = 0
    private let start: Instant
    /// A number from 0 up to, not including, 1.
    private let random: @Sendable () -> Double

    init(places: Int, now: Instant = .now, random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) {
        self.places = places
        start = now
        self.random = random
    }

    mutating func begin(now: Instant) { begun.append(now) }

    /// - Parameter start: When the request that has ended now began.
    mutating func end(start: Instant, now: Instant) {
        if let index = begun.firstIndex(of: start) { begun.remove(at: index) }
        let time = log(max(start.duration(to: now) / .seconds(1), 0.001))
        usual = usual.map { $0 + (time - $0) * Self.weight } ?? time
    }

    /// Whether a request usually takes so long, or all places are taken by such.
    ///
    /// - Parameter waiting: How many come first.
    func isSlower(than time: Duration, waiting: Int, now: Instant) -> Bool {
        let seconds = time / .seconds(1)
        if let usual, exp(usual) >= seconds { return true }
        if let interval = interval(now), interval * Double(waiting) >= seconds { return true }
        return begun.count >= places && begun.allSatisfy { $0.duration(to: now) >= time }
    }

    /// How many may wait for a place: at least as many as there are places.
    ///
    /// - Parameter isReturning: Whether it was sent away before.
    mutating func room(isReturning: Bool, now: Instant) -> Int {
        guard let interval = interval(now) else { return .max }
        forgetReturned(now)
        let longest = Self.longestWait * (isReturning ? Self.patience : 1) / .seconds(1)
        // Those that were sent away come first.
        if !isReturning, Double(absentees) * interval > longest { return 0 }
        return max(places, Int(min(longest / interval, 1e6)))
    }

    /// Sends somebody away.
    ///
    /// - Returns: When it is to come back.
    mutating func sendAway(now: Instant) -> Instant {
        forgetReturned(now)
        absentees += 1
        let turn = Self.longestWait + .seconds((interval(now) ?? 0) * Double(absentees))
        let longest = max(Self.longestAbsence, Self.absenceOfEach * absentees)
        // Not all at once.
        let absence = turn <= longest ? turn : longest * (0.5 + random() / 2)
        let time = (start.duration(to: now + absence) / .seconds(1) / Self.returnsTogether).rounded(.up)
        let back = start + .seconds(time * Self.returnsTogether)
        returns[second(back), default: 0] += 1
        return back
    }

    private mutating func forgetReturned(_ now: Instant) {
        let second = second(now)
        for (past, count) in returns where past < second {
            absentees -= count
            returns[past] = nil
        }
    }

    private func second(_ instant: Instant) -> Int { Int(start.duration(to: instant).components.seconds) }

    /// The seconds from one free place to the next; nil if nothing is known.
    func interval(_ now: Instant) -> Double? {
        let usual = usual.map { exp($0) }
        // A request under way takes at least as long as it has taken.
        let times = begun.map { max(usual ?? 0, $0.duration(to: now) / .seconds(1)) }
        let free = usual.map { Double(places - min(places, times.count)) / $0 } ?? 0
        let rate = times.reduce(free) { $0 + ($1 > 0 ? 1 / $1 : .infinity) }
        return rate > 0 && rate.isFinite ? 1 / rate : nil
    }
}
