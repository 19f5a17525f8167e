internal import Encodings

/// When a fault is due among the requests that match it.
struct FaultTiming: Sendable {
    /// A number of requests, or a time.
    enum Extent: Sendable {
        case requests(Int)
        case time(Duration)
    }

    enum Frequency: Sendable {
        case always
        /// A random share of the requests, from 0 to 1.
        case share(Double)
        /// Every n-th request.
        case every(Int)
    }

    /// The requests or the time, from the gateway's start, before the fault becomes active. Nil for none.
    var after: Extent?
    /// How long the fault then lasts. Nil for no limit.
    var duration: Extent?
    var frequency = Frequency.always
    /// The maximum number of occurrences. Nil for no limit.
    var times: Int?
}

extension FaultTiming: CustomStringConvertible {
    var description: String {
        var text =
            switch frequency {
            case .always: ""
            case .share(let share): ", a share of \(share)"
            case .every(let count): ", one in \(count)"
            }
        if let after { text += ", after \(after)" }
        if let duration { text += ", for \(duration)" }
        if let times { text += times == 1 ? ", once" : ", at most \(times) times" }
        return text
    }
}

extension FaultTiming.Extent: CustomStringConvertible {
    var description: String {
        switch self {
        case .requests(let count): count.counted("request")
        case .time(let time): "\(time)"
        }
    }
}

/// The progress of one fault.
struct FaultProgress: Sendable {
    /// How often it has occurred.
    private(set) var done = 0
    /// How many requests have matched it.
    private(set) var matched = 0
    /// When the fault became active, and how many requests had matched before.
    private var beginning: (elapsed: Duration, matched: Int)?

    /// Counts a request that matches the fault.
    ///
    /// - Parameters:
    ///   - elapsed: Time since the start of the plan.
    ///   - draw: A random number for this request, from 0 to below 1.
    /// - Returns: Whether the fault is due.
    mutating func countRequest(_ timing: FaultTiming, elapsed: Duration, draw: Double) -> Bool {
        matched += 1
        guard begin(timing, elapsed), let beginning else { return false }
        let number = matched - beginning.matched
        switch timing.duration {
        case .requests(let count) where number > count: return false
        case .time(let time) where elapsed - beginning.elapsed >= time: return false
        default: break
        }
        switch timing.frequency {
        case .share(let share) where draw >= share: return false
        case .every(let count) where number % count != 0: return false
        default: break
        }
        return countDone(timing)
    }

    /// Counts an occurrence without a request. Returns false if the limit is reached.
    mutating func countDone(_ timing: FaultTiming) -> Bool {
        if let times = timing.times, done >= times { return false }
        done += 1
        return true
    }

    private mutating func begin(_ timing: FaultTiming, _ elapsed: Duration) -> Bool {
        guard beginning == nil else { return true }
        switch timing.after {
        case nil: beginning = (.zero, 0)
        case .requests(let count):
            guard matched > count else { return false }
            beginning = (elapsed, count)
        case .time(let time):
            guard elapsed >= time else { return false }
            beginning = (time, matched - 1)
        }
        return true
    }
}
