import Testing

@testable import Rules

/// Loops through related documents and totals.
@Suite struct LinkLoopTests {
    private static func related(_ selector: String, _ merge: String) -> String {
        "{related: {selector: \(selector), then: [{merge: \(merge)}]}}"
    }

    private static func rule(_ name: String, _ when: String, _ then: String...) -> String {
        "name: \(name), when: \(when), then: [\(then.joined(separator: ", "))]"
    }

    private static let tasksOfList = "{type: task, list: {jq: ._id}}"
    private static let listOfTask = "{type: list, _id: {jq: .list}}"

    private func loops(_ rules: [String]) throws -> [String] {
        try warnings(rules).filter { $0.hasSuffix("[rule-loop]") }
    }

    @Test func rulesThatCountInEachOthersDocumentsAreALoop() throws {
        let found = try loops([
            Self.rule("down", "{type: list}", Self.related(Self.tasksOfList, "{n: {jq: .n + 1}}")),
            Self.rule("up", "{type: task}", Self.related(Self.listOfTask, "{m: {jq: (.m // 0) + 1}}")),
        ])
        #expect(
            found == [
                "r.yaml:4:42: warning: rule 'up': it and 'down' (r.yaml:3) each fire for the documents that the "
                    + "other changes, each time with another 'm', in an endless rule loop; make one of the selectors "
                    + "exclude changed documents [rule-loop]"
            ])
    }

    @Test(arguments: [
        // A value that grows as it is passed around the loop.
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: {jq: $source.n}}")),
            rule("up", "{type: task}", related(listOfTask, "{n: {jq: $source.n + 1}}")),
        ],
        // One rule sets a member, the other resets it.
        [
            rule("ask", "{type: list, asked: true}", related(tasksOfList, "{told: true}"), "{merge: {asked: null}}"),
            rule("tell", "{type: task, told: true}", related(listOfTask, "{asked: true}"), "{merge: {told: null}}"),
        ],
        // A relation in both directions.
        [rule("peers", "{type: task}", related("{type: task, team: {jq: .team}}", "{n: {jq: .n + 1}}"))],
        [rule("all", "{type: task}", related("{$and: [{type: task}]}", "{seen: {by: {jq: .seen.by + 1}}}"))],
        [
            rule("a", "{type: a}", related("{type: b, of: {$eq: {jq: .key}}}", "{n: {jq: .n + 1}}")),
            rule("b", "{type: b}", related("{type: c, of: {jq: .of}}", "{n: {jq: $source.n}}")),
            rule("c", "{type: c}", related("{type: a, key: {jq: .of}}", "{n: {jq: $source.n}}")),
        ],
    ])
    func loopsOfRelatedDocumentsAreFound(rules: [String]) throws {
        let found = try loops(rules)
        #expect(found.count == 1, "\(found)")
    }

    @Test(arguments: [
        // A copied value stops changing.
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: {jq: $source.n}}")),
            rule("up", "{type: task}", related(listOfTask, "{n: {jq: $source.n}}")),
        ],
        [
            rule("down", "{type: list}", related(tasksOfList, "{name: {jq: $source.name}}")),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        // The selector does not match a second time.
        [
            rule("down", "{type: list}", related("{type: task, list: {jq: ._id}, n: 0}", "{n: {jq: .n + 1}}")),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: 1}"), "{merge: {told: true}}"),
            rule("up", "{type: task, n: 1}", related("{type: list, told: {$ne: true}}", "{m: {jq: .m + 1}}")),
        ],
        [
            rule(
                "down", "{type: list, told: {$exists: false}}", related(tasksOfList, "{n: {jq: .n + 1}}"),
                "{merge: {told: true}}"),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        // A tree is finite.
        [rule("depth", "{type: node}", related("{type: node, above: {jq: ._id}}", "{depth: {jq: $source.depth + 1}}"))],
        [rule("next", "{n: {$exists: true}}", related("{n: {jq: .n + 1}}", "{hits: {jq: .hits + 1}}"))],
        // Another list.
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: {jq: .n + 1}}")),
            rule("up", "{type: task}", related("{type: list, _id: {jq: .other}}", "{m: {jq: .m + 1}}")),
        ],
        [
            rule("down", "{type: list}", related(tasksOfList, "{list: {jq: $source.moved}, n: {jq: .n + 1}}")),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        // The result is unpredictable.
        [
            rule("down", "{type: list}", related("{_id: {$in: {jq: .tasks}}}", "{n: {jq: .n + 1}}")),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        [
            rule("down", "{type: list}", related(tasksOfList, "{jq: '{n: (.n + 1)}'}")),
            rule("up", "{type: task}", related(listOfTask, "{m: {jq: .m + 1}}")),
        ],
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: {jq: .n + 1}}")),
            "name: up, when: {type: task}, if: .n < 5, then: [\(related(listOfTask, "{m: {jq: .m + 1}}"))]",
        ],
        // Copies of copies, and a counter.
        [
            rule("down", "{type: list}", related(tasksOfList, "{n: {jq: .n + 1}, a: {jq: $source.b}}")),
            rule("up", "{type: task}", related(listOfTask, "{b: {jq: $source.a}}")),
        ],
    ])
    func noFalseAlarmForRelatedDocuments(rules: [String]) throws {
        #expect(try loops(rules) == [])
    }

    // MARK: - Totals

    private static func total(_ into: String, _ document: String, _ totals: String) -> String {
        "{aggregate: {into: \(into), document: \(document), \(totals)}}"
    }

    @Test(arguments: [
        [
            rule("one", "{type: {$in: [task, two]}}", total("one", "{type: one}", "sum: {n: {jq: .n}}")),
            rule("two", "{type: one}", total("two", "{type: two}", "sum: {n: {jq: .n // 0}}")),
        ],
        // The totals of a list are copied to its tasks.
        [
            rule(
                "sum", "{type: task}",
                total("{jq: .sums}", "{type: sums, list: {jq: .list}}", "sum: {hours: {jq: .hours}}")),
            rule("share", "{type: sums}", related("{type: task, sums: {jq: ._id}}", "{hours: {jq: $source.hours}}")),
        ],
    ])
    func loopsOfTotalsAreFound(rules: [String]) throws {
        let found = try loops(rules)
        #expect(found.count == 1, "\(found)")
    }

    @Test(arguments: [
        [
            rule("one", "{type: task}", total("one", "{type: one}", "sum: {n: {jq: .n}}")),
            rule("two", "{type: one}", total("two", "{type: two}", "sum: {n: {jq: .n}}")),
        ],
        // There is one totals document, whatever it holds.
        [
            rule("one", "{type: {$in: [task, two]}}", total("one", "{type: one}", "count: {n: true}")),
            rule("two", "{type: one}", total("two", "{type: two}", "count: {n: true}")),
        ],
        [
            rule("sum", "{type: task}", total("{jq: .sums}", "{type: sums}", "sum: {hours: {jq: .hours}}")),
            rule("share", "{type: sums}", related("{type: task, sums: {jq: ._id}}", "{total: {jq: $source.hours}}")),
        ],
        // Totals in the changed document itself are a separate error.
        [rule("all", "{}", total("all", "{type: all}", "sum: {n: {jq: .n}}"))],
    ])
    func noFalseAlarmForTotals(rules: [String]) throws {
        #expect(try loops(rules) == [])
    }
}
