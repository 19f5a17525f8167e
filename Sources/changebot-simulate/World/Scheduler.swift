internal import TestKit

/// The clock of a simulation, and the order of everything that happens in it.
///
/// Work is a task's next part, a callback of a queue, or an event of the simulated world. The seed picks the next work
/// from all that is ready. If nothing is ready, the clock advances to the next timer. So tasks never run in parallel, and
/// one run can be repeated exactly.
final class Scheduler {
    /// Who caused some work: the simulated world, or a process by its number.
    typealias Owner = Int
    static let world: Owner = 0

    private struct Work {
        let number: Int
        let owner: Owner
        /// Works of one queue are done in order.
        let queue: UnsafeMutableRawPointer?
        let body: () -> Void
    }

    /// Nanoseconds since the simulated machine was started.
    private(set) var uptime: Int64 = 1_000_000_000_000
    /// How much the wall clock is ahead of ``uptime``: it starts in November 2026.
    var wallLead: Int64 = 1_795_000_000_000_000_000
    /// How much the clocks of some processes are ahead of the wall clock, in seconds.
    var clockLeads: [Owner: Int64] = [:]
    /// What the clock of the current owner shows, in nanoseconds since 1970.
    var wallTime: Int64 {
        uptime + wallLead + (clockLeads.isEmpty ? 0 : (clockLeads[owner] ?? 0) * 1_000_000_000)
    }
    /// What the wall clock shows, in seconds since 1970.
    var wallSeconds: Int { Int((uptime + wallLead) / 1_000_000_000) }
    /// How many works were done.
    private(set) var step = 0
    /// Whose work is being done.
    private(set) var owner = Scheduler.world

    private var ready: [Work] = []
    /// The next one last.
    private var timers: [(due: Int64, work: Work)] = []
    /// Those of processes that never end, for ``Breakage``. Nil: all end.
    private var lost: [(due: Int64, owner: Owner)]?
    var losesTimers: Bool {
        get { lost != nil }
        set { lost = newValue ? [] : nil }
    }
    private var added = 0
    /// How likely it is that the newest work is done next, in percent: then one task does several parts in a row, and
    /// overtakes others.
    var inertia = 0
    private var ended: Set<Owner> = []
    private var suspensions = Suspensions()

    /// Processes that do nothing for a while.
    private struct Suspensions {
        /// What each of them will do.
        var works: [Owner: [Work]] = [:]
        /// When each process was last resumed, as uptime.
        var ends: [Owner: Int64] = [:]
    }
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// Adds work of the current owner.
    ///
    /// - Parameter due: An uptime; nil: now.
    func add(due: Int64? = nil, queue: UnsafeMutableRawPointer? = nil, _ body: @escaping () -> Void) {
        guard !ended.contains(owner) else { return }
        added += 1
        let work = Work(number: added, owner: owner, queue: queue, body: body)
        guard let due, due > uptime else { return makeReady(work) }
        if losesTimers, owner != Self.world {
            lost?.append((due, owner))
            return
        }
        timers.insert((due, work), at: place(of: due))
    }

    private func makeReady(_ work: Work) {
        guard suspensions.works[work.owner] == nil else {
            suspensions.works[work.owner]?.append(work)
            return
        }
        ready.append(work)
    }

    /// A process does nothing until it is resumed.
    ///
    /// - Returns: False if it was suspended before.
    func suspend(_ owner: Owner) -> Bool {
        guard suspensions.works[owner] == nil, isRunning(owner) else { return false }
        suspensions.works[owner] = ready.filter { $0.owner == owner }
        ready.removeAll { $0.owner == owner }
        return true
    }

    /// - Returns: False if it was not suspended.
    @discardableResult func resume(_ owner: Owner) -> Bool {
        guard let works = suspensions.works.removeValue(forKey: owner) else { return false }
        ready += works
        suspensions.ends[owner] = uptime
        return true
    }

    /// Whether a process was suspended for a part of this time until now.
    func wasSuspended(_ owner: Owner, within time: Duration) -> Bool {
        suspensions.works[owner] != nil || suspensions.ends[owner].map { $0 > uptime - time.nanoseconds } ?? false
    }

    /// Where the next timer with this time belongs: before those that were added earlier, which are due first.
    private func place(of due: Int64) -> Int {
        var (low, high) = (0, timers.count)
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].due <= due { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Adds an event of the world.
    func after(_ delay: Duration, _ body: @escaping () -> Void) {
        acting(as: Self.world) { add(due: uptime + delay.nanoseconds, body) }
    }

    /// Work that `body` adds belongs to `owner`.
    @discardableResult func acting<Value>(as owner: Owner, _ body: () throws -> Value) rethrows -> Value {
        let before = self.owner
        self.owner = owner
        defer { self.owner = before }
        return try body()
    }

    /// Whether nothing is ready.
    var isIdle: Bool { ready.isEmpty }

    /// Whether a process will continue, if nothing else happens.
    func hasWork(of owner: Owner) -> Bool {
        ready.contains { $0.owner == owner } || timers.contains { $0.work.owner == owner }
    }

    /// When a process continues, the earliest time first.
    func timers(of owner: Owner) -> [(due: Int64, isLost: Bool)] {
        timers.reversed().filter { $0.work.owner == owner }.map { ($0.due, false) }
            + (lost ?? []).filter { $0.owner == owner }.map { ($0.due, true) }
    }

    func isRunning(_ owner: Owner) -> Bool { !ended.contains(owner) }

    /// Drops all work of a process: it never continues.
    func end(_ owner: Owner) {
        ended.insert(owner)
        suspensions.works[owner] = nil
        ready.removeAll { $0.owner == owner }
        timers.removeAll { $0.work.owner == owner }
    }

    /// All processes do nothing for a while.
    func sleep(_ nanoseconds: Int64) { uptime += nanoseconds }

    /// Does one work.
    ///
    /// - Returns: False if there is nothing to do, now or later.
    func runStep() -> Bool {
        if ready.isEmpty, let next = timers.last { uptime = max(uptime, next.due) }
        while let next = timers.last, next.due <= uptime { makeReady(timers.removeLast().work) }
        // All that was due belongs to suspended processes.
        if ready.isEmpty, !timers.isEmpty { return runStep() }
        guard !ready.isEmpty else { return false }
        let work = takeNext()
        step += 1
        // Computing takes time, so that endless work meets its time limits.
        uptime += Int64(numbers.below(20_000))
        acting(as: work.owner, work.body)
        return true
    }

    private func takeNext() -> Work {
        var index = inertia > 0 && numbers.below(100) < inertia ? ready.count - 1 : numbers.below(ready.count)
        if let queue = ready[index].queue {
            for (other, work) in ready.enumerated() where work.queue == queue && work.number < ready[index].number {
                index = other
            }
        }
        return ready.remove(at: index)
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
