/// Finds loops of three rules and more: each makes the next one fire, and the last one the first.
struct RuleLoops {
    private static let lengthLimit = 6
    /// The most rules that are tried as the next one, in all.
    private static let stepLimit = 20_000

    private let rules: [CheckedRule]
    /// For each rule, what is known of a document for which it has fired.
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

    /// One for each loop, at the last of its rules.
    var warnings: [RuleWarning] {
        var steps = 0
        var found: [Int: RuleWarning] = [:]
        for start in rules.indices where rules[start].mayRepeat {
            guard let circle = circle([start], after[start], &steps), let last = circle.max() else { continue }
            if found[last] == nil { found[last] = warning(circle, at: last) }
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    /// A loop that begins with `way`; its first rule is also the first of them in the files.
    private func circle(_ way: [Int], _ state: Knowledge, _ steps: inout Int) -> [Int]? {
        guard way.count < Self.lengthLimit, let current = way.last, let start = way.first else { return nil }
        for next in followers(of: current) where next > start && !way.contains(next) {
            steps += 1
            guard steps < Self.stepLimit else { return nil }
            guard state.certainlyFires(rules[next]) else { continue }
            var state = state
            state.apply(rules[next].outlook)
            let way = way + [next]
            if way.count > 2, place(of: way) != nil, state.certainlyFires(rules[start]) { return way }
            if let circle = circle(way, state, &steps) { return circle }
        }
        return nil
    }

    private func followers(of rule: Int) -> [Int] {
        Set(rules[rule].outlook.touched.compactMap(\.path.first)).flatMap { readers[$0] ?? [] }.sorted()
    }

    /// A member that two of the rules set differently, so that the document differs each time.
    private func place(of circle: [Int]) -> [String]? {
        var touches: [[String]: [RuleOutlook.Touch]] = [:]
        for rule in circle {
            for (path, touch) in rules[rule].outlook.lastTouches { touches[path, default: []].append(touch) }
        }
        let places = touches.filter { _, touches in touches.contains { touch in touches.contains(where: touch.undoes) }
        }
        return places.keys.min { $0.lexicographicallyPrecedes($1) }
    }

    private func warning(_ circle: [Int], at last: Int) -> RuleWarning {
        let others = circle.filter { $0 != last }.sorted().map { rules[$0].reference }
        let names = others.dropLast().joined(separator: ", ") + " and " + (others.last ?? "")
        let place = DisplayText.plain(place(of: circle).map { FieldPath(names: $0).spelling } ?? "")
        return rules[last].warning(
            at: rules[last].position(of: "then"), .ruleLoop,
            "it, \(names) trigger each other at '\(place)' without end, a rule loop; exclude the others' "
                + "documents in one of them")
    }
}
