/// Finds loops of three or more rules: each makes the next one fire, and the last one makes the first one fire.
struct RuleLoops {
    private static let lengthLimit = 6
    /// The maximum number of rules tried in total.
    private static let stepLimit = 20_000

    private let rules: [CheckedRule]
    /// For each rule, what is known about a document for which it has fired.
    private let after: [Knowledge]
    /// For each member of the document, the rules whose selectors read it.
    private var readers: [String: [Int]] = [:]

    init(_ rules: [CheckedRule], after: [Knowledge]) {
        self.rules = rules
        self.after = after
        for (index, rule) in rules.enumerated() where rule.mayRepeat {
            let names = rule.rule.when.fieldNames + (rule.rule.unless?.fieldNames ?? [])
            for name in Set(names) { readers[name, default: []].append(index) }
        }
    }

    /// One warning for each loop, at the last of its rules.
    var warnings: [RuleWarning] {
        var steps = 0
        var found: [Int: RuleWarning] = [:]
        for start in rules.indices where rules[start].mayRepeat {
            guard let loop = loop([start], after[start], &steps), let last = loop.max() else { continue }
            if found[last] == nil { found[last] = warning(loop, at: last) }
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    /// A loop that begins with `chain`. Its first rule is also the first in the files.
    private func loop(_ chain: [Int], _ state: Knowledge, _ steps: inout Int) -> [Int]? {
        guard chain.count < Self.lengthLimit, let current = chain.last, let start = chain.first else { return nil }
        for next in followers(of: current) where next > start && !chain.contains(next) {
            steps += 1
            guard steps < Self.stepLimit else { return nil }
            guard state.certainlyFires(rules[next]) else { continue }
            var state = state
            state.apply(rules[next].prediction)
            let chain = chain + [next]
            if chain.count > 2, place(of: chain) != nil, state.certainlyFires(rules[start]) { return chain }
            if let loop = loop(chain, state, &steps) { return loop }
        }
        return nil
    }

    private func followers(of rule: Int) -> [Int] {
        Set(rules[rule].prediction.edits.compactMap(\.path.first)).flatMap { readers[$0] ?? [] }.sorted()
    }

    /// A member that two of the rules set differently, so that the document differs each time.
    private func place(of loop: [Int]) -> [String]? {
        var edits: [[String]: [RulePrediction.Edit]] = [:]
        for rule in loop {
            for (path, edit) in rules[rule].prediction.lastEdits { edits[path, default: []].append(edit) }
        }
        let places = edits.filter { _, edits in edits.contains { edit in edits.contains(where: edit.undoes) }
        }
        return places.keys.min { $0.lexicographicallyPrecedes($1) }
    }

    private func warning(_ loop: [Int], at last: Int) -> RuleWarning {
        let others = loop.filter { $0 != last }.sorted().map { rules[$0].reference }
        let names = others.dropLast().joined(separator: ", ") + " and " + (others.last ?? "")
        let place = DisplayText.plain(place(of: loop).map { FieldPath(names: $0).spelling } ?? "")
        return rules[last].warning(
            at: rules[last].position(of: "then"), .ruleLoop,
            "it, \(names) trigger each other at '\(place)' in an endless rule loop; make one of them exclude the "
                + "others' documents")
    }
}
