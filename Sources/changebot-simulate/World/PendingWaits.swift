internal import Locking

/// What the tasks of each process wait for, apart from requests and times.
final class PendingWaits: WaitObserver, @unchecked Sendable {
    private let scheduler: Scheduler
    private var pending: [Int: (owner: Scheduler.Owner, name: String, since: Int64)] = [:]
    private var count = 0

    init(_ scheduler: Scheduler) { self.scheduler = scheduler }

    func begin(_ name: StaticString) -> Int {
        count += 1
        pending[count] = (scheduler.owner, name.description, scheduler.uptime)
        return count
    }

    func end(_ number: Int) { pending[number] = nil }

    /// Forgets the tasks of a process that has ended.
    func end(of owner: Scheduler.Owner) { pending = pending.filter { $0.value.owner != owner } }

    /// In the order in which they began.
    func names(of owner: Scheduler.Owner) -> [(name: String, since: Int64)] {
        pending.filter { $0.value.owner == owner }.sorted { $0.key < $1.key }.map { ($0.value.name, $0.value.since) }
    }
}
