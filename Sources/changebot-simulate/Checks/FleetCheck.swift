internal import Fleet
internal import TestKit

/// Checks that members of a fleet act only while they hold their leases, and that the log forgets nothing.
///
/// See "Another machine takes over" in `Guarantees.md`.
struct FleetCheck {
    /// A member begins nothing in the last second of its lease.
    private static let margin = Duration.seconds(1)
    /// From the last look at the lease until the request begins.
    static let delay = Duration.milliseconds(100)

    /// Until when each member has its leases, by the engine's clock. Those of former incarnations count, too: no member
    /// gets a lease before they have expired.
    private var expiries: [String: Duration] = [:]
    /// How many leases were taken from members that had not given them up.
    private var takeovers = 0
    /// When each member last did so.
    private var lastTakeovers: [String: Duration] = [:]

    /// The engine has carried out a call of a process.
    mutating func note(_ log: MemoryEngine, _ process: Scheduler.Owner, at now: Duration) {
        expiries.merge(log.expiries) { max($0, $1) }
        let count = log.takeovers
        if count > takeovers { lastTakeovers[Self.owner(process)] = now }
        takeovers = count
    }

    /// A process begins to write documents, or to send an event.
    ///
    /// - Parameter ids: The documents whose changes cause the request, as far as they are known.
    /// - Throws: ``Violation``.
    func checkBegin(
        _ ids: [String], by process: Scheduler.Owner, _ what: String, _ log: MemoryEngine, at now: Duration
    ) throws {
        let owner = Self.owner(process)
        let expiry = expiries[owner] ?? .zero
        guard now < expiry - Self.margin + Self.delay else {
            throw Violation(
                guarantee: .leases,
                detail: "\(owner) \(what), and its leases end \(expiry - now) later: they were not renewed in time")
        }
        for id in ids where !Scenario.isTotal(id) && Scenario.putBody(id) == nil {
            let partition = Partitioning.partition(of: DocumentKey(id), among: log.partitions)
            guard let holder = log.holder(of: partition)?.owner, holder != owner else { continue }
            throw Violation(
                guarantee: .leases, detail: "\(owner) \(what): \(id) is in partition \(partition), which \(holder) has")
        }
    }

    /// A transaction of a member is about to change the state.
    ///
    /// - Throws: ``Violation`` if its leases have expired, and other members have taken leases since then.
    func checkTransaction(by owner: String, at now: Duration) throws {
        guard let expiry = expiries[owner], lastTakeovers.contains(where: { $0.key != owner && $0.value > expiry })
        else { return }
        throw Violation(
            guarantee: .leases,
            detail:
                "\(owner) changes the state; its leases ended \(now - expiry) ago, and others took leases since then")
    }

    static func owner(_ process: Scheduler.Owner) -> String { "bot \(process)" }
}
