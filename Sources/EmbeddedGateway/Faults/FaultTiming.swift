/// When a fault is due, of the requests that it is for.
struct FaultTiming: Sendable {
    /// So many requests, or so much time.
    enum Extent: Sendable {
        case requests(Int)
        case time(Duration)
    }

    enum Frequency: Sendable {
        case always
        /// 0 to 1, drawn for each request.
        case share(Double)
        /// One request in so many.
        case every(Int)
    }

    /// What passes unharmed at the beginning, counted from the start of the gateway.
    var after: Extent?
    /// How long the fault then stays; nil for ever.
    var stay: Extent?
    var frequency = Frequency.always
    /// Most times that it is done; nil for no limit.
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
        if let stay { text += ", for \(stay)" }
        if let times { text += times == 1 ? ", once" : ", at most \(times) times" }
        return text
    }
}

extension FaultTiming.Extent: CustomStringConvertible {
    var description: String {
        switch self {
        case .requests(let count): "\(count) requests"
        case .time(let time): "\(time)"
        }
    }
}

/// How far a fault has come.
struct FaultProgress: Sendable {
    /// How often it was done.
    private(set) var done = 0
    /// How many requests came that it is for.
    private(set) var matched = 0
    /// When the fault began to be possible, and how many requests had come before.
    private var beginning: (elapsed: Duration, matched: Int)?

    /// Counts a request that the fault is for.
    ///
    /// - Parameters:
    ///   - elapsed: Time since the start of the plan.
    ///   - draw: A number of 0 up to 1 for this request.
    /// - Returns: Whether the fault is due.
    mutating func countRequest(_ timing: FaultTiming, elapsed: Duration, draw: Double) -> Bool {
        matched += 1
        guard begin(timing, elapsed), let beginning else { return false }
        let number = matched - beginning.matched
        switch timing.stay {
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

    /// Counts that it is done, without a request. Returns false if it was done often enough.
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
