internal import BotState
internal import Fleet
internal import TestKit

/// Checks what members of a fleet commit to the log. Called in the transaction of each commit.
final class CommitCheck: @unchecked Sendable {
    private unowned let world: World
    /// Where the dead letters of a commit are saved, in its transaction.
    private let state: SQLiteStore
    /// Documents and revisions that were dead-lettered because processes ended while they decided them.
    private(set) var dead: Set<String> = []

    init(_ world: World, _ state: SQLiteStore) { (self.world, self.state) = (world, state) }

    func note(_ commit: MemoryEngine.Commit) {
        guard case .committed(_, let outcome, let deleted, let owner) = commit else { return }
        if !outcome.dead.isEmpty { save(outcome.dead) }
        for change in deleted where !change.isParked && change.entry.kind.isFromFeed {
            world.checkFinished(change.id.text, at: change.entry.sequence, by: owner)
        }
    }

    private func save(_ changes: [DeadChange]) {
        for change in changes {
            world.story.tell("engine", "\(change.change.id) is dead-lettered: \(change.reason)")
            dead.insert("\(change.change.id) \(change.change.entry.revision)")
        }
        do { try state.writeNow { try DeadChanges.saveDeadLetters(changes, $0) } } catch {
            world.stop("a dead letter can't be saved: \(error)")
        }
    }
}

extension World {
    /// A member commits that a change is done. A newer change of the document may be under way.
    func checkFinished(_ id: String, at sequence: String, by owner: String) {
        guard !operations.database.isUnnoticed, !operations.database.isOffline,
            let position = gateway.positions.position(sequence), let document = gateway.documents[id],
            gateway.hasPassed(document, position), let lack = lack(of: document)
        else { return }
        checking {
            throw Violation(
                guarantee: .log, detail: "\(owner) commits that \(id) at \(sequence) is done, but it \(lack)")
        }
    }

    /// At a quiet moment: members that run have all leases, and nothing waits in the log.
    ///
    /// - Throws: ``Violation``.
    func checkLogAtQuietMoment() throws {
        guard let backlog = fleet.engine?.log.backlog else { return }
        let running = Set(fleet.processes.map { FleetCheck.owner($0.number) })
        func check(_ isGood: Bool, _ detail: @autoclosure () -> String) throws {
            if !isGood { throw Violation(guarantee: .log, detail: detail()) }
        }
        try check(backlog.leader.map(running.contains) ?? false, "no member reads the feed")
        for part in backlog.parts {
            try check(part.owner.map(running.contains) ?? false, "no member works on partition \(part.partition)")
            try check(
                part.oldestAge ?? .zero < .seconds(60),
                "\(part.entries) changes wait in partition \(part.partition), the oldest for \(part.oldestAge ?? .zero)"
            )
            try check(part.parked == 0, "\(part.parked) changes are parked in partition \(part.partition)")
        }
    }
}
