/// Decides which databases are worked on now, and which next: events in, names out. Does no I/O.
///
/// A quiet database costs one entry here and nothing else.
struct DatabaseSchedule {
    /// A moment: for waits, and as seconds since 1970 for times of documents.
    struct Moment {
        let instant: ContinuousClock.Instant
        let seconds: Int
    }

    /// How work on a database has ended.
    enum Ending {
        /// It is quiet, or others have their turn.
        ///
        /// - Parameters:
        ///   - wakeAt: When its next timer or pass is due, in seconds since 1970. Nil: never.
        ///   - hasMore: Whether it was interrupted before it was quiet.
        case done(wakeAt: Int?, hasMore: Bool)
        /// It can't be read or written now. It is tried again later.
        case failed
        /// Another member of the fleet works on it, and may end without finishing, or it was missing, and may just be
        /// being created. It must be looked at again after this time.
        case lookAgain(Duration)
        /// It does not exist.
        case missing
    }

    private struct Entry {
        var isRunning = false
        var isQueued = false
        /// Whether it must be looked at again: it has changed since its work began, or its work has failed.
        var isDirty = false
        /// Consecutive failures.
        var failures = 0
    }

    private static let maxRetry: Duration = .seconds(900)
    /// How many seconds later a timer that is still due is tried again, so that it does not keep a database busy.
    private static let minWake = 10

    private let maxActive: Int
    private let firstRetry: Duration
    private var entries: [String: Entry] = [:]
    private var queue: [String] = []
    /// The queue's entries before this index have begun.
    private var head = 0
    /// When databases must be looked at although nothing changes.
    private var wakes: [String: Int] = [:]
    /// When databases that failed are tried again.
    private var retries: [String: ContinuousClock.Instant] = [:]
    private(set) var running: Set<String> = []

    /// - Parameters:
    ///   - maxActive: The most databases that are worked on at the same time.
    ///   - firstRetry: The wait after the first failure of a database, doubled with each further one.
    init(maxActive: Int, firstRetry: Duration) { (self.maxActive, self.firstRetry) = (maxActive, firstRetry) }

    /// The number of known databases.
    var count: Int { entries.count }
    /// The number of databases that wait for their turn.
    var queued: Int { queue.count - head }
    /// Whether databases wait for their turn, so that others should end theirs.
    var isCrowded: Bool { queued > 0 }
    /// Whether nothing is running or waiting for its turn.
    var isIdle: Bool { running.isEmpty && queued == 0 }

    /// Whether a database waits for its turn.
    func isQueued(_ name: String) -> Bool { entries[name]?.isQueued == true }

    func knows(_ name: String) -> Bool { entries[name] != nil }
    /// All known databases, in no particular order.
    var all: some Sequence<String> { entries.keys }

    /// Adds a database, without work.
    mutating func add(_ name: String, wakeAt: Int? = nil) {
        guard entries[name] == nil else { return }
        entries[name] = Entry()
        wakes[name] = wakeAt
    }

    /// Removes a database. If it is being worked on, ``ended(_:_:_:)`` still follows.
    mutating func remove(_ name: String) {
        entries[name] = nil
        wakes[name] = nil
        retries[name] = nil
    }

    /// Notes that a database has changed, or must be looked at for another reason.
    mutating func noteChange(_ name: String) {
        guard var entry = entries[name] else { return }
        if entry.isRunning {
            entry.isDirty = true
        } else if retries[name] != nil {
            entry.isDirty = true
        } else {
            enqueue(name, &entry)
        }
        entries[name] = entry
    }

    private mutating func enqueue(_ name: String, _ entry: inout Entry) {
        entry.isDirty = false
        guard !entry.isQueued else { return }
        entry.isQueued = true
        queue.append(name)
    }

    /// The databases whose work begins now. Those that are due are queued first.
    mutating func start(_ now: Moment) -> [String] {
        for (name, time) in wakes where time <= now.seconds && entries[name]?.isRunning == false && retries[name] == nil
        {
            wakes[name] = nil
            noteChange(name)
        }
        for (name, time) in retries where time <= now.instant {
            retries[name] = nil
            noteChange(name)
        }
        var started: [String] = []
        while running.count < maxActive, head < queue.count {
            let name = queue[head]
            head += 1
            guard var entry = entries[name], entry.isQueued else { continue }
            // A removed database that came back may still be running.
            guard !running.contains(name) else {
                (entry.isQueued, entry.isDirty, entry.isRunning) = (false, true, true)
                entries[name] = entry
                continue
            }
            (entry.isQueued, entry.isRunning) = (false, true)
            entries[name] = entry
            running.insert(name)
            started.append(name)
        }
        if head > 256, head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
        return started
    }

    /// Notes that the work on a database has ended.
    ///
    /// - Returns: Whether the database is missing, and was not announced meanwhile: the caller removes it.
    @discardableResult
    mutating func ended(_ name: String, _ ending: Ending, _ now: Moment) -> Bool {
        running.remove(name)
        guard var entry = entries[name] else { return false }
        entry.isRunning = false
        defer { if entries[name] != nil { entries[name] = entry } }
        switch ending {
        case .done(let wakeAt, let hasMore):
            entry.failures = 0
            wakes[name] = wakeAt.map { $0 > now.seconds ? $0 : now.seconds + Self.minWake }
            if hasMore || entry.isDirty { enqueue(name, &entry) }
        case .failed:
            retries[name] = now.instant + min(Self.maxRetry, firstRetry * (1 << min(entry.failures, 10)))
            entry.failures += 1
        case .lookAgain(let wait): retries[name] = now.instant + wait
        case .missing:
            guard entry.isDirty else { return true }
            enqueue(name, &entry)
        }
        return false
    }

    /// When ``start(_:)`` has something to do although nothing happens. Nil: never.
    func nextDue(_ now: Moment) -> ContinuousClock.Instant? {
        let retry = retries.values.min()
        let wake = wakes.lazy.filter { name, _ in entries[name]?.isRunning == false && retries[name] == nil }
            .map(\.value).min().map { now.instant + .seconds(max(0, $0 - now.seconds)) }
        return [retry, wake].compactMap { $0 }.min()
    }
}
