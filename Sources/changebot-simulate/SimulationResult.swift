/// How one simulation ended. Passed from a child process to its parent as JSON.
struct SimulationResult: Codable {
    let seed: UInt64
    let gateway: String
    let steps: Int
    /// The simulated time.
    let time: String
    /// The lines of the story.
    let events: Int
    /// Of the story: equal if two runs were the same.
    let digest: UInt64
    /// How often each kind of trouble occurred, by name.
    let faults: [String: Int]
    /// How often users did what, by verb.
    let users: [String: Int]
    /// The broken guarantee, and how; nil: all hold.
    let guarantee: String?
    let detail: String?
    /// After a failure: what each task of the bot waits for.
    let waits: [String]
    /// The last lines of the story.
    let recent: [String]
    /// The command that repeats it.
    let replay: String

    /// A line, and after a failure the story before it.
    ///
    /// - Parameters:
    ///   - showsRecent: Whether the story is printed in any case.
    ///   - hidesRecent: Whether it was printed already.
    func text(showsRecent: Bool, hidesRecent: Bool = false) -> String {
        let summary =
            "seed \(seed), \(gateway): \(steps) steps, \(time), \(events) events, story \(String(digest, radix: 16))"
        guard let guarantee else { return showsRecent ? (recent + [summary]).joined(separator: "\n") : summary }
        let lines =
            recent + [
                "", "FAILED  \(summary)", "guarantee  \(guarantee)", "found      \(detail ?? "")",
            ] + waits.map { "waits      \($0)" } + ["replay     \(replay)"]
        return lines.joined(separator: "\n")
    }
}

/// What occurred in several simulations.
struct FaultTable {
    private var simulations = 0
    private var steps = 0
    private var events = 0
    private var faults: [String: Int] = [:]
    private var users: [String: Int] = [:]

    mutating func add(_ result: SimulationResult) {
        simulations += 1
        steps += result.steps
        events += result.events
        faults.merge(result.faults, uniquingKeysWith: +)
        users.merge(result.users, uniquingKeysWith: +)
    }

    /// One line for each kind, also for those that did not occur.
    var text: String {
        let kinds = FaultKind.allCases.map { ($0.rawValue, faults[$0.rawValue] ?? 0) }
        let actions = users.sorted { $0.key < $1.key }.map { ("user \($0.key)", $0.value) }
        let rows = kinds + actions + [("events", events), ("steps", steps), ("simulations", simulations)]
        return rows.map { name, count in
            let number = String(count)
            return name + String(repeating: " ", count: max(1, 34 - name.count - number.count)) + number
        }.joined(separator: "\n")
    }
}
