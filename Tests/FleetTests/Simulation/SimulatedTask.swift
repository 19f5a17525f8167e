import Fleet

/// A leader's background work: requests rechecks of documents that have not changed.
struct SimulatedTask: LeaderTask {
    let member: SimulatedMember
    let gateway: SimulatedGateway
    let oracle: Oracle
    let scheduler: Scheduler
    let world: World

    func work(_ term: LeaderTerm) async throws {
        while !world.isTroubleFree {
            try await member.clock.sleep(for: scheduler.time(0.2, 4))
            let known = gateway.documents.indices.filter { gateway.documents[$0] != nil }
            guard !known.isEmpty, member.isAlive else { continue }
            let entries = (0...Int(8 * scheduler.fraction())).map { _ in
                let number = known[Int(Double(known.count) * scheduler.fraction())]
                return FeedEntry(scheduler.chance(0.5) ? .due : .uncounted, SimulatedGateway.id(number))
            }
            do throws(WorkLogError) {
                try await term.append(entries)
                oracle.count("looks")
            } catch .unavailable {
            } catch {
                throw error
            }
        }
        // The requested rechecks are still answered.
        while true { try await member.clock.sleep(for: .seconds(60)) }
    }
}
