/// Finds rules that put each other's documents endlessly: pairs, each time with a new value; and chains that create
/// documents, each time with a longer id.
struct PutLoops {
    private let rules: [CheckedRule]

    /// - Parameter rules: All rules, except those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules.filter {
            $0.rule.kind == .rules && $0.rule.on.contains(.change) && $0.dependsOnSelectorsAlone
                && !$0.prediction.deletes
        }
    }

    /// At most one warning for each rule, at its action. Only certain loops: a copied or derived value stops changing.
    var warnings: [RuleWarning] {
        let puts = rules.flatMap { rule in LocatedPut.all(of: rule.rule).map { (rule, put: $0) } }
        // Only a counter never stops changing, and few rules have one.
        let counting = puts.filter { $0.put.keepsID && $0.put.computed.contains(where: \.incrementsItself) }
        var found: Set<String> = []
        let pairs = counting.compactMap { rule, put -> RuleWarning? in
            for (other, answer) in puts where !found.contains(rule.rule.name) {
                guard let name = put.counts(with: answer), put.certainlyFires(other), answer.certainlyFires(rule) else {
                    continue
                }
                found.formUnion([rule.rule.name, other.rule.name])
                return Self.warning(rule, put, other.rule.name == rule.rule.name ? [] : [other.reference], name)
            }
            return nil
        }
        return pairs + creations(otherThan: found)
    }

    /// One warning for each rule that begins a chain of `put`s which create documents and lead back to it.
    ///
    /// - Parameter reported: The names of rules whose loops are known.
    private func creations(otherThan reported: Set<String>) -> [RuleWarning] {
        let puts = rules.filter { !reported.contains($0.rule.name) }.flatMap { rule in
            LocatedPut.creating(of: rule.rule).map { (rule, put: $0) }
        }
        guard !puts.isEmpty else { return [] }
        let followers = puts.map { from in puts.indices.filter { from.put.certainlyFires(puts[$0].0) } }
        var found: Set<Int> = []
        return puts.indices.compactMap { start in
            guard !found.contains(start), let loop = Self.shortestLoop(from: start, followers) else { return nil }
            found.formUnion(loop)
            let others = Set(loop.map { puts[$0].0.rule.name }).subtracting([puts[start].0.rule.name])
            let references = puts.map(\.0).filter { others.contains($0.rule.name) }.map(\.reference)
            var seen: Set<String> = []
            return Self.warning(puts[start].0, puts[start].put, references.filter { seen.insert($0).inserted }, "_id")
        }
    }

    /// The indexes of the shortest way from an index back to itself. Nil if there is none.
    private static func shortestLoop(from start: Int, _ followers: [[Int]]) -> [Int]? {
        var previous: [Int: Int] = [:]
        var queue = [start]
        while !queue.isEmpty {
            let current = queue.removeFirst()
            for next in followers[current] {
                guard next != start else {
                    var (loop, index) = ([current], current)
                    while index != start, let before = previous[index] {
                        loop.append(before)
                        index = before
                    }
                    return loop
                }
                guard previous[next] == nil else { continue }
                previous[next] = current
                queue.append(next)
            }
        }
        return nil
    }

    private static func warning(
        _ rule: CheckedRule, _ put: LocatedPut, _ others: [String], _ name: String
    ) -> RuleWarning {
        let others =
            switch others.count {
            case 0: "it fires for the documents that it puts"
            case 1: "it and \(others[0]) each fire for the documents that the other puts"
            default:
                "it, \(others.dropLast().joined(separator: ", ")) and \(others[others.count - 1]) each fire for "
                    + "documents that another of them puts"
            }
        return rule.warning(
            at: put.position, .ruleLoop,
            "\(others), each time with another '\(DisplayText.plain(name))', in an endless rule loop; make one of "
                + "the selectors exclude documents that were put")
    }
}

extension LocatedPut {
    /// A member that this `put` increments, and that `answer` increments or copies. Nil if there is none.
    fileprivate func counts(with answer: LocatedPut) -> String? {
        guard answer.keepsID else { return nil }
        let changing = Set(answer.computed.filter { $0.incrementsItself || $0.returnsOldValue }.map(\.path))
        return computed.first { $0.incrementsItself && changing.contains($0.path) }
            .map { FieldPath(names: $0.path).spelling }
    }
}
