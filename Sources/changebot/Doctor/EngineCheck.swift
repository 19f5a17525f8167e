internal import BotState
internal import PostgreSQL

/// Judges the engine of a fleet. Does no I/O.
enum EngineCheck {
    /// - Parameters:
    ///   - inspected: The result of inspecting the engine.
    ///   - isUnverified: Whether its certificate is not verified, although it is on the network.
    ///   - allowsUnsafe: Whether it may run with `fsync=off`.
    ///   - partitions: The partitions of a bot that shares the work. Nil: it does not.
    static func findings(
        _ inspected: Result<EngineInspection, StateError>, isUnverified: Bool, allowsUnsafe: Bool, partitions: Int?
    ) -> [Finding] {
        var findings: [Finding] = []
        if isUnverified {
            findings.append(
                Finding(
                    .warning, "the engine's certificate is not verified", remedy: "leave sslmode out of its address"))
        }
        switch inspected {
        case .failure(let error):
            return findings + [
                Finding(
                    .error, message: error.description,
                    otherwise:
                        "start PostgreSQL, or correct --engine; psql with the same address shows whether it answers")
            ]
        case .success(let engine):
            if engine.hasFsyncOff {
                findings.append(
                    Finding(
                        allowsUnsafe ? .warning : .error,
                        "fsync is off: PostgreSQL can lose data when its machine fails",
                        remedy: "set fsync=on in the server's postgresql.conf"))
            }
            if engine.hasAsynchronousCommit {
                findings.append(
                    Finding(
                        .warning, "synchronous_commit is off: PostgreSQL can lose the last writes when it is killed",
                        remedy: "set synchronous_commit=on in the server's postgresql.conf"))
            }
            let clock = ClockReading(
                sent: Double(engine.clock.sent), answered: Double(engine.clock.answered + 1),
                date: Double(engine.clock.engine)
            ).finding(of: "the engine")
            if clock.level != .ok { findings.append(clock) }
            if let other = partitions.flatMap({ engine.otherPartitions(than: $0) }) {
                findings.append(Finding(.error, other.text, remedy: other.remedy))
            }
            if let problem = engine.problem {
                findings.append(Finding(.error, message: "\(engine.name), \(engine.server): \(problem)"))
            } else {
                findings.append(.ok("\(engine.name), \(engine.server): \(summary(of: engine.snapshot))"))
            }
            return findings
        }
    }

    private static func summary(of fleet: FleetSnapshot?) -> String {
        guard let fleet else { return "it does not exist yet; 'run' creates it" }
        if !fleet.sharing.isEmpty {
            return "\(Quantity.count(fleet.sharing.count, "member")) sharing the work"
        }
        guard let running = fleet.members.first(where: \.runs) else {
            return fleet.members.isEmpty
                ? "no member is active" : "no member is active, \(waiting(fleet.members.count))"
        }
        let others = fleet.members.count - 1
        return "\(running.holder.visible) runs\(others > 0 ? ", \(waiting(others))" : "")"
    }

    private static func waiting(_ count: Int) -> String { "\(Quantity.count(count)) waiting" }
}
