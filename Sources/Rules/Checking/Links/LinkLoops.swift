/// Finds rules that change each other's documents endlessly, by `related` and `aggregate`.
///
/// Each document triggers the next one, and the last one triggers the first. Reports only certain loops: the rules fire
/// whatever else the documents hold, the first document is found again, and a value differs each time.
struct LinkLoops {
    private static let lengthLimit = 4
    /// The maximum number of links tried in total.
    private static let stepLimit = 20_000

    private let rules: [CheckedRule]
    private let links: [RuleLink]

    /// - Parameter rules: All rules, except those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules
        links = rules.enumerated().flatMap { index, rule in
            rule.mayLink ? RuleLink.all(of: rule, index) : []
        }.filter { !$0.memberChanges.isEmpty }
    }

    /// At most one warning for each rule, at the action of the last rule in the loop.
    var warnings: [RuleWarning] {
        let followers = followers
        var steps = 0
        var found: Set<Int> = []
        return links.indices.compactMap { start in
            guard !found.contains(links[start].rule), let loop = loop([start], followers, &steps),
                let name = changingMember(of: loop)
            else { return nil }
            let members = Set(loop.map { links[$0].rule })
            guard found.isDisjoint(with: members) else { return nil }
            found.formUnion(members)
            return warning(loop, name)
        }
    }

    /// For each link, the links of the rules that it leads to.
    private var followers: [[Int]] {
        let owners = Set(links.map(\.rule)).sorted()
        return links.map { link in
            let reached = Set(owners.filter { link.leads(to: rules[$0]) })
            return links.indices.filter { next in
                reached.contains(links[next].rule) && link.keeps(links[next], of: rules[links[next].rule])
            }
        }
    }

    private func loop(_ chain: [Int], _ followers: [[Int]], _ steps: inout Int) -> [Int]? {
        guard let first = chain.first, let last = chain.last else { return nil }
        if chain.count > 1, followers[last].contains(first), isClosed(chain), changingMember(of: chain) != nil {
            return chain
        }
        guard chain.count < Self.lengthLimit else { return nil }
        for next in followers[last] {
            steps += 1
            guard steps < Self.stepLimit else { return nil }
            // A totals document can't count itself; that is a separate error.
            guard !(links[next].isTotalsDocument && chain.contains(next)) else { continue }
            if let loop = loop(chain + [next], followers, &steps) { return loop }
        }
        return nil
    }

    // MARK: - Whether the loop returns to the same document

    private struct Place: Hashable {
        /// The document's index in the loop.
        let document: Int
        let path: [String]
    }

    /// Whether the last link finds the document with which the loop begins.
    private func isClosed(_ chain: [Int]) -> Bool {
        var groups: [Place: Int] = [:]
        var count = 0
        func group(of place: Place) -> Int {
            if let group = groups[place] { return group }
            count += 1
            groups[place] = count
            return count
        }
        for (document, link) in chain.dropLast().enumerated() {
            for pair in links[link].equalities {
                let source = group(of: Place(document: document, path: pair.source))
                let target = group(of: Place(document: document + 1, path: pair.target))
                for (place, other) in groups where other == target { groups[place] = source }
            }
        }
        let last = chain.count - 1
        return links[chain[last]].conditions.allSatisfy { pair in
            group(of: Place(document: last, path: pair.source)) == group(of: Place(document: 0, path: pair.target))
        }
    }

    // MARK: - Values that differ each time

    private typealias ChangingMembers = [Set<[String]>]

    /// The member that keeps the loop going. Nil if the loop ends.
    private func changingMember(of loop: [Int]) -> String? {
        var changing: ChangingMembers = loop.map { _ in [] }
        for (index, link) in loop.enumerated() {
            let next = rules[links[loop[(index + 1) % loop.count]].rule]
            let origins = links[link].memberChanges.filter { Self.startsChange($0.memberChange, $0.path, next) }
            changing[index].formUnion(origins.map(\.path))
        }
        propagate(&changing, loop)
        if let name = Self.name(changing) { return name }
        // A value that is passed around the loop and changed on the way.
        for (index, link) in loop.enumerated() {
            for (path, memberChange) in links[link].memberChanges {
                guard case .derives(let source) = memberChange else { continue }
                var trial = changing
                trial[index].insert(path)
                propagate(&trial, loop)
                let before = (index + loop.count - 1) % loop.count
                if trial[before].contains(source), let name = Self.name(trial) { return name }
            }
        }
        return nil
    }

    private static func startsChange(_ memberChange: RuleLink.MemberChange, _ path: [String], _ next: CheckedRule)
        -> Bool
    {
        switch memberChange {
        case .counts: true
        case .set(let edit): next.prediction.lastEdits[path].map { $0.undoes(edit) } ?? false
        case .copies, .derives: false
        }
    }

    /// Adds the members that are copied or derived from changing members.
    private func propagate(_ changing: inout ChangingMembers, _ loop: [Int]) {
        for _ in 0..<loop.count * 2 {
            for (index, link) in loop.enumerated() {
                let before = changing[(index + loop.count - 1) % loop.count]
                for (path, memberChange) in links[link].memberChanges {
                    switch memberChange {
                    case .copies(let source), .derives(let source):
                        if before.contains(source) { changing[index].insert(path) }
                    case .counts, .set: continue
                    }
                }
            }
        }
    }

    /// A changing member. Nil unless each link changes one.
    private static func name(_ changing: ChangingMembers) -> String? {
        guard changing.allSatisfy({ !$0.isEmpty }) else { return nil }
        return changing.joined().map { FieldPath(names: $0).spelling }.min()
    }

    // MARK: - The warning

    private func warning(_ loop: [Int], _ name: String) -> RuleWarning {
        let last = loop.max { (links[$0].rule, $0) < (links[$1].rule, $1) } ?? loop[0]
        let rule = rules[links[last].rule]
        let others = Set(loop.map { links[$0].rule }).subtracting([links[last].rule]).sorted().map {
            rules[$0].reference
        }
        let what =
            switch others.count {
            case 0: "it fires for the documents that it changes"
            case 1: "it and \(others[0]) each fire for the documents that the other changes"
            default: "it, \(Self.list(others)) each fire for documents that another of them changes"
            }
        return rule.warning(
            at: links[last].position, .ruleLoop,
            "\(what), each time with another '\(DisplayText.plain(name))', in an endless rule loop; make one of the "
                + "selectors exclude changed documents")
    }

    private static func list(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }
}

extension CheckedRule {
    /// Whether only the selectors decide if the rule fires for a document that a link has changed.
    fileprivate var mayLink: Bool {
        rule.kind == .rules && rule.on.contains(.change) && !rule.definition.isScheduled && dependsOnSelectorsAlone
            && !prediction.deletes
    }
}
