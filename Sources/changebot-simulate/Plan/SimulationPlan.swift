internal import GatewayClient
internal import Rules

/// The file of `--plan`: which simulations are run. Each key is optional.
///
/// ```yaml
/// seeds: [1, 20-29]
/// steps: 50000
/// gateway: couchdb
/// documents: 10
/// actions: 1000
/// members: random
/// faults:
///   kill: 0.001
///   lost-answer: 0.05
///   outage: random
/// ```
struct SimulationPlan {
    var seeds: [UInt64]?
    var steps: Int?
    var gateway: GatewayDialect?
    var documents: Int?
    var actions: Int?
    var members: MemberCount?
    var faults: TroubleRates?

    private static let keys = ["seeds", "steps", "gateway", "documents", "actions", "members", "faults"]
    private static let seedLimit = 100_000

    /// Reads a YAML or JSON file.
    ///
    /// - Throws: `RuleFilesError` with all errors of the file.
    init(path: String) throws(RuleFilesError) {
        let root = try SourceFile.read(
            path: path, beginning: "a plan has the keys \(Self.keys.joined(separator: ", "))")
        var reader = PlanReader(path: path)
        for member in reader.members(of: root, "a plan", Self.keys) {
            switch member.name {
            case "seeds": seeds = reader.seeds(member.value, limit: Self.seedLimit)
            case "steps": steps = reader.positive(member)
            case "documents": documents = reader.positive(member)
            case "actions": actions = reader.positive(member)
            case "members": members = reader.members(member.value)
            case "gateway": gateway = reader.gateway(member.value)
            default: faults = reader.faults(member.value)
            }
        }
        guard reader.errors.isEmpty else { throw RuleFilesError(kind: .invalid, errors: reader.errors) }
    }
}

/// Reads the values of a plan, and collects what is wrong with them.
private struct PlanReader {
    let path: String
    private(set) var errors: [RuleFileError] = []

    init(path: String) { self.path = path }

    private mutating func report(_ position: SourcePosition, _ message: String) {
        errors.append(RuleFileError(path: path, position: position, message: message))
    }

    /// Those with a name in `known`; nil: all.
    mutating func members(of node: SourceNode, _ what: String, _ known: [String]? = nil) -> [SourceNode.Member] {
        guard case .object(let members) = node.content else {
            let keys = known.map { " with the keys " + $0.joined(separator: ", ") } ?? ""
            report(node.position, "\(what) must be an object\(keys), not \(node.kindName)")
            return []
        }
        guard let known else { return members }
        return members.filter { member in
            if known.contains(member.name) { return true }
            report(member.position, "'\(member.name)' is unknown: use \(known.joined(separator: ", "))")
            return false
        }
    }

    mutating func positive(_ member: SourceNode.Member) -> Int? {
        if case .number(let text) = member.value.content, let number = Int(text), number > 0 { return number }
        report(member.value.position, "'\(member.name)' must be a whole number from 1")
        return nil
    }

    mutating func gateway(_ node: SourceNode) -> GatewayDialect? {
        if case .string(let text) = node.content, let found = GatewayDialect(rawValue: text) { return found }
        report(node.position, "'gateway' must be sync-gateway or couchdb")
        return nil
    }

    mutating func members(_ node: SourceNode) -> MemberCount? {
        switch node.content {
        case .number(let text), .string(let text): if let count = MemberCount(text) { return count }
        default: break
        }
        report(node.position, "'members' must be \(MemberCount.form)")
        return nil
    }

    /// A number, a range `1-9`, or a list of both.
    mutating func seeds(_ node: SourceNode, limit: Int) -> [UInt64]? {
        var all: [UInt64] = []
        let elements = if case .list(let list) = node.content { list } else { [node] }
        for element in elements {
            guard let range = Self.range(element), range.count <= limit - all.count else {
                report(
                    element.position,
                    "'seeds' must be whole numbers or ranges like 1-9, together at most \(limit) seeds")
                return nil
            }
            all += range
        }
        if all.isEmpty { report(node.position, "'seeds' is empty; write at least one seed, or leave it out") }
        return all
    }

    private static func range(_ node: SourceNode) -> ClosedRange<UInt64>? {
        switch node.content {
        case .number(let text): return UInt64(text).map { $0...$0 }
        case .string(let text):
            let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
            guard parts.count == 2, let first = parts[0], let last = parts[1], first <= last, last < .max else {
                return nil
            }
            return first...last
        default: return nil
        }
    }

    mutating func faults(_ node: SourceNode) -> TroubleRates? {
        switch node.content {
        case .string("all"): return .all
        case .string("none"): return TroubleRates.none
        case .list(let elements):
            var plan = TroubleRates.none
            for element in elements {
                guard case .string(let name) = element.content else {
                    report(element.position, "each kind of trouble must be a name, not \(element.kindName)")
                    continue
                }
                add(name, nil, at: element.position, element.position, to: &plan)
            }
            return plan
        case .object(let members):
            var plan = TroubleRates.none
            for member in members {
                switch member.value.content {
                case .number(let rate): add(member.name, rate, at: member.position, member.value.position, to: &plan)
                case .string("random"), .null: add(member.name, nil, at: member.position, member.position, to: &plan)
                default:
                    report(
                        member.value.position,
                        "the rate of '\(member.name)' must be a number from 0 to 1, or random, not \(member.value.kindName)"
                    )
                }
            }
            return plan
        default:
            report(node.position, "'faults' must be all, none, a list of names, or an object with a rate for each name")
            return nil
        }
    }

    private mutating func add(
        _ name: String, _ rate: String?, at position: SourcePosition, _ ratePosition: SourcePosition,
        to plan: inout TroubleRates
    ) {
        do throws(TroubleRates.Invalid) { try plan.add(name, rate: rate) } catch {
            let isName = FaultKind(rawValue: name) == nil
            report(isName ? position : ratePosition, error.message)
        }
    }
}
