/// Looks for a shorter simulation that fails in the same way: fewer kinds of trouble, documents, actions and steps.
///
/// Each attempt drops something from the best simulation so far. That changes everything that follows, so the failure may
/// then need another seed: each attempt is made with several.
struct Shrinker {
    private static let seedsOfAttempt: UInt64 = 12
    private static let runLimit = 600

    private let children: ChildSimulations
    private let guarantee: String?
    private var best: (settings: SimulationSettings, result: SimulationResult)
    private var runs = 0

    init(_ settings: SimulationSettings, _ result: SimulationResult, _ children: ChildSimulations) {
        (best, guarantee, self.children) = ((settings, result), result.guarantee, children)
        best.settings.steps = result.steps
    }

    /// - Returns: The result of the shortest simulation that was found: maybe that of the first one.
    mutating func shrink() throws -> SimulationResult {
        var isShorter = true
        while isShorter, runs < Self.runLimit {
            let kinds = try dropKinds()
            let documents = try reduceDocuments()
            let actions = try reduceActions()
            let steps = try findShorterSeed()
            isShorter = kinds || documents || actions || steps
        }
        print("shrink: \(runs) simulations; the shortest has \(best.result.steps) steps")
        return best.result
    }

    /// All at once, then halves, then each alone.
    private mutating func dropKinds() throws -> Bool {
        var hasDropped = false
        var size = best.settings.faults.kinds.count
        while size > 0 {
            var start = 0
            while start < best.settings.faults.kinds.count {
                let kinds = Array(best.settings.faults.kinds[start...].prefix(size))
                var settings = best.settings
                settings.faults = settings.faults.without(kinds)
                if try attempt(settings, "without \(kinds.map(\.rawValue).joined(separator: ", "))") {
                    hasDropped = true
                } else {
                    start += size
                }
            }
            size /= 2
        }
        return hasDropped
    }

    private mutating func reduceDocuments() throws -> Bool {
        try reduce(\.documents, from: best.settings.documents, "documents")
    }

    /// The actions of a simulation without a limit are those that it has done.
    private mutating func reduceActions() throws -> Bool {
        let done = best.result.users.values.reduce(0, +)
        return try reduce(\.limitOfActions, from: best.settings.actions ?? done, "actions")
    }

    /// To a few, to halves, then by ever smaller parts.
    private mutating func reduce(
        _ member: WritableKeyPath<SimulationSettings, Int>, from first: Int, _ name: String
    ) throws -> Bool {
        var (now, part) = (first, first / 2)
        while part > 0, runs < Self.runLimit {
            var settings = best.settings
            settings[keyPath: member] = now - part
            if now > part, try attempt(settings, "with \(now - part) \(name)") { now -= part }
            part = part > now / 2 ? now / 2 : part / 2
        }
        return now < first
    }

    private mutating func findShorterSeed() throws -> Bool {
        guard best.settings.steps > 1 else { return false }
        var settings = best.settings
        settings.steps -= 1
        settings.seed &+= Self.seedsOfAttempt
        return try attempt(settings, "with another seed")
    }

    /// Runs simulations with these settings and several seeds, and keeps the first that fails within as many steps.
    private mutating func attempt(_ settings: SimulationSettings, _ change: String) throws -> Bool {
        guard runs < Self.runLimit else { return false }
        let seeds = (0..<Self.seedsOfAttempt).map { settings.seed &+ $0 }
        let all = seeds.map { seed in
            var settings = settings
            settings.seed = seed
            return settings
        }
        var found: (settings: SimulationSettings, result: SimulationResult)?
        var count = 0
        try children.run(all) { [guarantee] settings, result in
            count += 1
            if result.guarantee == guarantee { found = (settings, result) }
            return found == nil
        }
        runs += count
        guard let found else { return false }
        best = found
        best.settings.steps = found.result.steps
        print("shrink: \(found.result.steps) steps \(change), seed \(found.settings.seed)")
        return true
    }
}

extension SimulationSettings {
    fileprivate var limitOfActions: Int {
        get { actions ?? 0 }
        set { actions = newValue }
    }
}
