public import ArgumentParser
public import GatewayClient
internal import Rules

/// The options that say which simulations are run. A plan's file can give most of them instead.
struct ScenarioOptions: ParsableArguments {
    @Option(help: "The seed. Even seeds simulate Sync Gateway, and odd ones CouchDB. Default: 1.")
    var seed: UInt64?

    @Option(
        help: """
            How many seeds, from the first one. Each is a simulation of its own, in its own process. Default: 1.
            """)
    var seeds: Int?

    @Option(help: "The number of steps after which a simulation ends. Default: 100000.")
    var steps: Int?

    @Option(
        help: """
            The kinds of trouble: all, none, or names with commas. NAME=RATE sets how often one occurs, from 0 to 1. \
            --list-faults prints the names. Default: all.
            """)
    var faults: String?

    @Option(help: "Simulate this server only: sync-gateway or couchdb.")
    var gateway: GatewayDialect?

    @Option(help: "The number of documents that users write. Default: 40.")
    var documents: Int?

    @Option(help: "How often users act at most. Default: again and again, until the simulation ends.")
    var actions: Int?

    @Option(help: "How many members of a fleet share the work, or random: the seed decides. Default: 1, a bot alone.")
    var members: MemberCount?

    @Option(
        help: """
            The rules of the bot: full, shared or basic. With shared, as in a fleet, no rule emits lines, changes related \
            documents, repeats an action, merges conflicts or runs over all documents. With basic, none fires at deletions, \
            or when a document starts or stops matching, either. Default: full.
            """)
    var rules: Scenario.Extent = .full

    @Option(
        name: .customLong("break"),
        help: "Put in an error on purpose: \(Breakage.allCases.map(\.rawValue).joined(separator: ", ")).")
    var breakage: Breakage?

    @Option(
        help: """
            Read seeds, steps, gateway, documents, actions, members and faults from this YAML or JSON file.
            """)
    var plan: String?

    func validate() throws {
        let numbers = [("seeds", seeds), ("steps", steps), ("documents", documents), ("actions", actions)]
        if let (name, _) = numbers.first(where: { $1.map { $0 <= 0 } == true }) {
            throw ValidationError("--\(name) must be positive")
        }
        #if !DEBUG
            if let breakage, breakage.isInDelivery {
                throw ValidationError("--break \(breakage.rawValue) needs a debug build: swift build")
            }
        #endif
        if let seed, seed > UInt64.max - UInt64(seeds ?? 1) { throw ValidationError("--seed is too large") }
        do { _ = try faults.map { try TroubleRates($0) } } catch let error as TroubleRates.Invalid {
            throw ValidationError("--faults: \(error.message)")
        }
    }

    /// The settings of each simulation, in order.
    ///
    /// - Throws: `RuleFilesError` for a plan, `ValidationError` if an option contradicts it.
    func simulations() throws -> [SimulationSettings] {
        let file = try plan.map { try SimulationPlan(path: $0) }
        for (name, isTwice) in [
            ("seed", seed != nil && file?.seeds != nil), ("seeds", seeds != nil && file?.seeds != nil),
            ("steps", steps != nil && file?.steps != nil), ("faults", faults != nil && file?.faults != nil),
            ("gateway", gateway != nil && file?.gateway != nil),
            ("documents", documents != nil && file?.documents != nil),
            ("actions", actions != nil && file?.actions != nil), ("members", members != nil && file?.members != nil),
        ] where isTwice {
            throw ValidationError("the plan has \(name == "seed" ? "seeds" : name), too: leave out --\(name)")
        }
        let first = seed ?? 1
        let plan = try file?.faults ?? faults.map { try TroubleRates($0) } ?? .all
        return (file?.seeds ?? Array(first..<first + UInt64(seeds ?? 1))).map { seed in
            SimulationSettings(
                seed: seed, dialect: file?.gateway ?? gateway ?? (seed.isMultiple(of: 2) ? .syncGateway : .couchDB),
                steps: file?.steps ?? steps ?? 100_000, faults: plan, documents: file?.documents ?? documents ?? 40,
                actions: file?.actions ?? actions,
                members: (file?.members ?? members ?? .fixed(1)).number(seed: seed), breakage: breakage, extent: rules)
        }
    }
}

extension GatewayDialect: ExpressibleByArgument {}
extension Breakage: ExpressibleByArgument {}
extension Scenario.Extent: ExpressibleByArgument {}

extension MemberCount: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}
