/// Finds rules that change each other's documents without end, by `related` and `aggregate`.
///
/// Each document leads to the next one, and the last one to the first. Only loops that are certain: the rules fire
/// whatever the documents hold besides, the first document is found again, and something differs each time.
struct LinkLoops {
    private static let lengthLimit = 4
    /// The most links that are tried as the next one, in all.
    private static let stepLimit = 20_000

    private let rules: [CheckedRule]
    private let links: [RuleLink]

    /// - Parameter rules: Without those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules
        links = rules.enumerated().flatMap { index, rule in
            rule.mayLink ? RuleLink.all(of: rule, index) : []
        }.filter { !$0.motions.isEmpty }
    }

    /// At most one for each rule, at the action of the last of them.
    var warnings: [RuleWarning] {
        let followers = followers
        var steps = 0
        var found: Set<Int> = []
        return links.indices.compactMap { start in
            guard !found.contains(links[start].rule), let circle = circle([start], followers, &steps),
                let name = mover(of: circle)
            else { return nil }
            let members = Set(circle.map { links[$0].rule })
            guard found.isDisjoint(with: members) else { return nil }
            found.formUnion(members)
            return warning(circle, name)
        }
    }

    /// For each link, those of the rules that it leads to.
    private var followers: [[Int]] {
        let owners = Set(links.map(\.rule)).sorted()
        return links.map { link in
            let reached = Set(owners.filter { link.leads(to: rules[$0]) })
            return links.indices.filter { next in
                reached.contains(links[next].rule) && link.keeps(links[next], of: rules[links[next].rule])
            }
        }
    }

    private func circle(_ way: [Int], _ followers: [[Int]], _ steps: inout Int) -> [Int]? {
        guard let first = way.first, let last = way.last else { return nil }
        if way.count > 1, followers[last].contains(first), isClosed(way), mover(of: way) != nil { return way }
        guard way.count < Self.lengthLimit else { return nil }
        for next in followers[last] {
            steps += 1
            guard steps < Self.stepLimit else { return nil }
            // A total is not counted in itself: that is an error.
            guard !(links[next].isTotal && way.contains(next)) else { continue }
            if let circle = circle(way + [next], followers, &steps) { return circle }
        }
        return nil
    }

    // MARK: - The same documents again

    private struct Place: Hashable {
        /// The number of the document in the circle.
        let document: Int
        let path: [String]
    }

    /// Whether the last link finds the document with which the circle begins.
    private func isClosed(_ way: [Int]) -> Bool {
        var groups: [Place: Int] = [:]
        var count = 0
        func group(of place: Place) -> Int {
            if let group = groups[place] { return group }
            count += 1
            groups[place] = count
            return count
        }
        for (document, link) in way.dropLast().enumerated() {
            for pair in links[link].equalities {
                let source = group(of: Place(document: document, path: pair.source))
                let target = group(of: Place(document: document + 1, path: pair.target))
                for (place, other) in groups where other == target { groups[place] = source }
            }
        }
        let last = way.count - 1
        return links[way[last]].conditions.allSatisfy { pair in
            group(of: Place(document: last, path: pair.source)) == group(of: Place(document: 0, path: pair.target))
        }
    }

    // MARK: - Something that differs each time

    private typealias Moving = [Set<[String]>]

    /// The member that keeps the circle going; nil if it comes to rest.
    private func mover(of circle: [Int]) -> String? {
        var moving: Moving = circle.map { _ in [] }
        for (index, link) in circle.enumerated() {
            let next = rules[links[circle[(index + 1) % circle.count]].rule]
            let origins = links[link].motions.filter { Self.isOrigin($0.motion, $0.path, next) }
            moving[index].formUnion(origins.map(\.path))
        }
        spread(&moving, circle)
        if let name = Self.name(moving) { return name }
        // A value that goes round and is changed on its way.
        for (index, link) in circle.enumerated() {
            for (path, motion) in links[link].motions {
                guard case .derives(let source) = motion else { continue }
                var trial = moving
                trial[index].insert(path)
                spread(&trial, circle)
                let before = (index + circle.count - 1) % circle.count
                if trial[before].contains(source), let name = Self.name(trial) { return name }
            }
        }
        return nil
    }

    private static func isOrigin(_ motion: RuleLink.Motion, _ path: [String], _ next: CheckedRule) -> Bool {
        switch motion {
        case .counts: true
        case .set(let touch): next.outlook.lastTouches[path].map { $0.undoes(touch) } ?? false
        case .copies, .derives: false
        }
    }

    /// Adds what is copied or derived from what moves.
    private func spread(_ moving: inout Moving, _ circle: [Int]) {
        for _ in 0..<circle.count * 2 {
            for (index, link) in circle.enumerated() {
                let before = moving[(index + circle.count - 1) % circle.count]
                for (path, motion) in links[link].motions {
                    switch motion {
                    case .copies(let source), .derives(let source):
                        if before.contains(source) { moving[index].insert(path) }
                    case .counts, .set: continue
                    }
                }
            }
        }
    }

    /// A member that moves, if each link moves one.
    private static func name(_ moving: Moving) -> String? {
        guard moving.allSatisfy({ !$0.isEmpty }) else { return nil }
        return moving.joined().map { FieldPath(names: $0).spelling }.min()
    }

    // MARK: - The warning

    private func warning(_ circle: [Int], _ name: String) -> RuleWarning {
        let last = circle.max { (links[$0].rule, $0) < (links[$1].rule, $1) } ?? circle[0]
        let rule = rules[links[last].rule]
        let others = Set(circle.map { links[$0].rule }).subtracting([links[last].rule]).sorted().map {
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
            "\(what), each time with another '\(DisplayText.plain(name))', without end, a rule loop; exclude the "
                + "documents that were changed from one of the selectors")
    }

    private static func list(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }
}

extension CheckedRule {
    /// Whether the selectors alone decide if the rule fires for a document that a link has changed.
    fileprivate var mayLink: Bool {
        rule.kind == .rules && rule.on.contains(.change) && !rule.isScheduled && dependsOnSelectorsAlone
            && !outlook.deletes
    }
}
