import Fleet
import TestKit

/// A fleet without faults that processes a backlog in virtual time. Each member has one processor, which handles one
/// document at a time. Each call to the log takes time.
final class BusyFleet: @unchecked Sendable {
    static let timePerDocument = Duration.milliseconds(10)
    static let timePerCall = Duration.milliseconds(1)

    let scheduler = Scheduler(seed: 1)
    let engine: MemoryEngine
    /// How many documents have changed, each once.
    let documents: Int
    private(set) var done: Set<DocumentKey> = []
    /// How many changes were processed again.
    private(set) var repeats = 0
    /// Whether the feed has the changes.
    private(set) var isOpen = false
    private var members: [Member] = []

    init(documents: Int) {
        self.documents = documents
        let scheduler = scheduler
        engine = MemoryEngine(time: { scheduler.now })
    }

    /// The members have their shares before the changes arrive.
    ///
    /// - Returns: From the changes until all is committed.
    func time(members count: Int) -> Duration {
        for _ in 0..<count { join() }
        let share = Partitioning.share(of: engine.partitions, among: count)
        wait { members.allSatisfy { $0.partitions == share } }
        isOpen = true
        return timeUntilDone()
    }

    /// The changes exist when the first member joins.
    ///
    /// - Parameter times: When each member joins.
    /// - Returns: From the first member until all is committed.
    func time(joining times: [Duration]) -> Duration {
        isOpen = true
        for time in times { scheduler.at(time) { self.join() } }
        return timeUntilDone()
    }

    private func timeUntilDone() -> Duration {
        let start = scheduler.now
        wait { done.count == documents && engine.isEmpty }
        defer { end() }
        return scheduler.now - start
    }

    /// For at most an hour.
    private func wait(until isOver: () -> Bool) {
        let deadline = scheduler.now + .seconds(3600)
        scheduler.run { isOver() || scheduler.now > deadline }
    }

    private func join() { members.append(Member(self, number: members.count)) }

    private func end() {
        for member in members { member.task?.cancel() }
        scheduler.run { members.allSatisfy(\.hasEnded) }
        members = []
    }

    fileprivate func note(_ id: DocumentKey) { if !done.insert(id).inserted { repeats += 1 } }

    /// One process.
    private final class Member: @unchecked Sendable {
        private let member: FleetMember
        private(set) var task: Task<Void, Never>?
        private(set) var hasEnded = false

        init(_ fleet: BusyFleet, number: Int) {
            let clock = SimulatedClock(scheduler: fleet.scheduler, offset: .seconds(number))
            let link = MemoryLink(clock: clock)
            link.faults.latency = BusyFleet.timePerCall
            let environment = FleetEnvironment(
                clock: clock, random: { [scheduler = fleet.scheduler] in scheduler.fraction() })
            member = FleetMember(
                log: MemoryWorkLog(fleet.engine, owner: "m\(number)", link: link, clock: clock),
                feed: Backlog(fleet: fleet, clock: clock), processor: BusyProcessor(fleet: fleet, clock: clock),
                environment: environment)
            task = Task(executorPreference: SimulatedExecutor(fleet.scheduler, number: number)) { [self] in
                do { try await member.run() } catch {}
                hasEnded = true
            }
        }

        var partitions: Int { member.worker.partitions.count }
    }

    /// A feed with one change of each document.
    private struct Backlog: LeaderFeed {
        let fleet: BusyFleet
        let clock: SimulatedClock

        func changes(after sequence: String?, limit: Int) async throws -> FeedPart {
            let from = Int(sequence ?? "0") ?? 0
            guard fleet.isOpen, from < fleet.documents else {
                try await clock.sleep(for: .milliseconds(100))
                return FeedPart(entries: [], sequence: nil)
            }
            try await clock.sleep(for: BusyFleet.timePerCall)
            let numbers = from..<min(from + limit, fleet.documents)
            let entries = numbers.map {
                FeedEntry(sequence: "\($0 + 1)", id: DocumentKey("document \($0)"), revision: "1")
            }
            return FeedPart(entries: entries, sequence: "\(numbers.upperBound)")
        }

        func savedAnsweredSequence() async throws -> String? { nil }
        func saveAnsweredSequence(_ sequence: String) async throws {}
    }
}

/// Handles documents in the order in which it gets them.
private final class BusyProcessor: Processor, @unchecked Sendable {
    private let fleet: BusyFleet
    private let clock: SimulatedClock
    /// When all its documents are done.
    private var end = Duration.zero

    init(fleet: BusyFleet, clock: SimulatedClock) { (self.fleet, self.clock) = (fleet, clock) }

    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async {
        for change in changes {
            end = max(end, clock.now) + BusyFleet.timePerDocument
            do { try await clock.sleep(until: end) } catch { return }
            guard tenure.isValid else { return answer(change, .postponed) }
            fleet.note(change.id)
            answer(change, .done)
        }
    }
}
