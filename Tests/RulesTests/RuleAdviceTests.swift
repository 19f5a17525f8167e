import Testing

@testable import Rules

/// Advice for new users.
@Suite struct RuleAdviceTests {
    private static func step(_ name: String, _ from: Int, _ to: Int) -> String {
        "name: \(name), when: {x: \(from)}, then: [{merge: {x: \(to)}}]"
    }

    /// The rule must also process elements that are added later, so it needs no condition that stops it.
    @Test(arguments: [
        "then: [{for_each: '.lines[]', attach: {name: {jq: $item.product}, url: 'http://h/x.png'}}]",
        "then: [{for_each: '.lines[]', merge: {last: {jq: $item.product}}}]",
        "then: [{for_each: '.lines[]', merge: {done: true}}]",
    ])
    func actionsForEachElementMayRunAgain(then: String) throws {
        #expect(try warnings(["name: a, when: {type: order}, " + then]) == [])
    }

    /// The date is set again whenever the document has another expiry.
    @Test(arguments: ["{jq: .until}", "2031-01-01T00:00:00Z"])
    func expiryAtADateMayRunAgain(expiry: String) throws {
        #expect(try warnings(["name: a, when: {type: offer}, then: [{expire: \(expiry)}]"]) == [])
    }

    @Test func remedyForADetachedBlobNamesTheMissingMember() throws {
        let found = try warnings(["name: a, when: {type: task}, then: [{detach: {blob: image}}]"])
        #expect(found.count == 1 && found[0].contains("image: { $exists: false }"), "\(found)")
        #expect(!found[0].contains("$exists: true"), "\(found)")
    }

    @Test func remedyNamesOnlyActionsWithoutElements() throws {
        let found = try warnings([
            "name: a, when: {type: order}, "
                + "then: [{for_each: '.lines[]', merge: {last: {jq: $item.n}}}, {merge: {done: true}}]"
        ])
        #expect(found.count == 1 && found[0].contains("add `unless: { done: { $eq: true } }`"), "\(found)")
    }

    @Test func loopsOfThreeRulesAreFound() throws {
        let found = try warnings([Self.step("a", 1, 2), Self.step("b", 2, 3), Self.step("c", 3, 1)])
        #expect(found.count == 1)
        #expect(
            found.first?.hasPrefix(
                "r.yaml:5:28: warning: rule 'c': it, 'a' (r.yaml:3) and 'b' (r.yaml:4) trigger each other at 'x' in "
                    + "an endless rule loop") == true, "\(found)")
        #expect(
            try ruleSet(lines: Self.step("a", 1, 2), Self.step("b", 2, 3), Self.step("c", 3, 1))
                .decide(#"{"x":1}"#).error != nil)
    }

    @Test func loopsOfFourRulesAndOverSeveralMembersAreFound() throws {
        let four = [Self.step("a", 1, 2), Self.step("d", 4, 1), Self.step("b", 2, 3), Self.step("c", 3, 4)]
        #expect(try warnings(four).count == 1)
        let handOver = try warnings([
            "name: a, when: {p: 1}, then: [{merge: {p: null, q: 1}}]",
            "name: b, when: {q: 1}, then: [{merge: {q: null, r: 1}}]",
            "name: c, when: {r: 1}, then: [{merge: {r: null, p: 1}}]",
        ])
        #expect(handOver.count == 1 && handOver.allSatisfy { $0.hasSuffix("[rule-loop]") }, "\(handOver)")
    }

    private static func put(_ from: String, _ to: String, _ n: String, _ more: String = "if_exists: merge") -> String {
        "name: \(from), when: {type: \(from)}, "
            + "then: [{put: {id: {jq: .partner}, \(more), document: {type: \(to), n: {jq: '\(n)'}}}}]"
    }

    /// A run stops such a chain after ten documents and dead-letters the last one.
    @Test(arguments: [
        (put("a", "b", ".n + 1"), put("b", "a", ".n + 1")), (put("a", "b", "(.n // 0) + 1"), put("b", "a", ".n")),
        (put("b", "a", ".n"), put("a", "b", ".n * 2")),
    ])
    func rulesThatPutEachOthersDocumentsAreFound(first: String, second: String) throws {
        let found = try warnings([first, second])
        #expect(
            found.count == 1 && found[0].contains("each time with another 'n', in an endless rule loop")
                && found[0].hasSuffix("[rule-loop]"), "\(found)")
    }

    @Test func ruleThatPutsDocumentsOfItsOwnKindIsFound() throws {
        let found = try warnings([
            "name: a, when: {type: a}, then: [{put: {id: {jq: '._id + \"x\"'}, if_exists: replace, "
                + "document: {type: a, n: {jq: .n + 1}}}}]"
        ])
        #expect(found.count == 1 && found[0].contains("it fires for the documents that it puts"), "\(found)")
    }

    @Test(arguments: [
        // A value copied both ways stops changing, and so does a constant.
        [put("a", "b", ".n"), put("b", "a", ".n")], [put("a", "b", ".n + 1"), put("b", "a", "7")],
        [put("a", "b", ".n + 1"), put("b", "c", ".n + 1")],
        [put("a", "b", ".n + 1", "if_exists: keep"), put("b", "a", ".n + 1")],
        [put("a", "b", ".n + 1", "if_exists: merge, keyspace: other"), put("b", "a", ".n + 1")],
        // The replaced document lacks the member `partner`.
        [put("a", "b", ".n + 1", "if_exists: replace"), put("b", "a", ".n + 1")],
        [put("a", "b", ".n + 1"), put("b", "a", ".n + 1") + ", if: .n < 5"],
        [put("a", "b", ".n + 1"), put("b", "a", ".n + 1") + ", unless: {n: {$gt: 5}}"],
    ])
    func finitePutsAreAccepted(rules: [String]) throws {
        #expect(try warnings(rules).filter { $0.contains("rule-loop") } == [])
    }

    @Test func finiteChainsAreAccepted() throws {
        #expect(try warnings([Self.step("a", 1, 2), Self.step("b", 2, 3), Self.step("c", 3, 4)]) == [])
        #expect(
            try warnings([
                Self.step("a", 1, 2), Self.step("b", 2, 3),
                "name: c, when: {x: 3, done: {$exists: false}}, then: [{merge: {x: 1, done: true}}]",
            ]) == [])
    }

    @Test(arguments: [
        // A total is recomputed at each change, and written only if it differs.
        "{total: {jq: '[.items[].price] | add'}}", "{total: {jq: '.qty * .price'}, box: {vat: {jq: '.price * 0.2'}}}",
        "{tags: {jq: '.tags | unique'}}", "{name: {jq: '.first + \" \" + .last'}, state: open}",
    ])
    func derivedValueIsNotReportedAsFiringAgain(merge: String) throws {
        #expect(try warnings(["name: a, when: {type: cart}, then: [{merge: \(merge)}]"]) == [])
    }

    @Test(arguments: [
        #"(.tags + ["new"]) | unique"#, ".tags // -1", ".tags // (.a + .b)", "(.tags * 100 | round) / 100", ".tags + 0",
        ".tags - 0", ".tags * 1", ".tags / 1", ".tags * 0", ".tags % 10", #".tags + """#, ".tags + []",
        ".tags + {a: 1}",
        #".tags - ["old"]"#, ".tags // 0 + 1", #".tags / ",""#, ".other + 1", "-.tags | fabs", "(.tags + 1) % 1",
        ".tags += 0 | .tags", ".tags + 1 - 1",
    ])
    func programThatStopsChangingIsNotACounter(program: String) throws {
        #expect(try warnings(["name: a, when: {type: cart}, then: [{merge: {tags: {jq: '\(program)'}}}]"]) == [])
    }

    @Test(arguments: [
        "{n: {jq: .n + 1}}", "{n: {jq: '.n += 1 | .n'}}", "{box: {n: {jq: '(.box.n // 0) + 1'}}}",
        "{list: {jq: '.list + [1]'}, state: open}", "{n: {jq: '1 + (.n // 0)'}}", "{n: {jq: '.n - 2.5'}}",
        "{n: {jq: '.n * 2'}}", "{n: {jq: '.\"n\" / 10'}}", "{s: {jq: '.s + \"x\"'}}",
        "{a-b: {jq: '.[\"a-b\"] + 1'}}",
    ])
    func counterNeverRests(merge: String) throws {
        let found = try warnings(["name: a, when: {type: cart}, then: [{merge: \(merge)}]"])
        #expect(found.count == 1 && found.allSatisfy { $0.hasSuffix("[never-rests]") }, "\(found)")
        #expect(found.allSatisfy { $0.contains("it never stops") && !$0.contains("$exists: false") })
    }

    @Test func remedyDependsOnWhetherATimeIsSetOnce() throws {
        let found = try warnings(["name: a, when: {type: cart}, then: [{merge: {at: {jq: $now | todate}}}]"])
        #expect(found.count == 1)
        #expect(
            found.first?.contains("to fire once, add `unless: { at: { $exists: true } }`") == true
                || found.first?.contains("to fire once, add `at: { $exists: false }` to `when`") == true)
        #expect(found.first?.contains("allow: [fires-again]") == true)
    }

    /// Once the document changes, the picture must be attached again.
    @Test(arguments: [
        "blob", "name",
    ])
    func computedPictureMayFollowTheDocument(key: String) throws {
        #expect(
            try warnings([
                "name: a, when: {type: donor}, then: [{attach: {\(key): card, folder: /tmp, file: {jq: .group}}}]"
            ]) == [])
    }

    @Test(arguments: [
        ("{a: {$gt: '10'}}", "$gt with the string \"10\" compares strings"),
        ("{a: {$gt: '12345'}}", "$gt with the string \"12345\" compares strings"),
        ("{a: {$gt: '-100'}}", "$gt with the string \"-100\" compares strings"),
        ("{a: {$lte: ' 1.5'}}", "$lte with the string \" 1.5\" compares strings"),
        ("{a: {$gt: 10}}", "$gt with a number also holds for strings, lists and objects"),
        ("{a.b: {$elemMatch: {$gte: 10}}}", "$gte with a number also holds for strings"),
    ])
    func comparisonsOfNumbersWithTextsAreReported(when: String, warning: String) throws {
        let found = try selectorWarnings(when)
        #expect(
            found.count == 1 && found.allSatisfy { $0.contains(warning) && $0.hasSuffix("[mixed-types]") }, "\(found)")
    }

    @Test(arguments: [
        "{a: {$gt: 1, $lt: 5}}", "{a: {$gt: 1, $type: number}}", "{a: {$gt: '2026-01-01'}}", "{a: {$lt: 5}}",
        "{a: {$gte: '2000', $lt: '2026-11-01'}}", "{a: {$gte: '202611'}}", "{a: {$gte: '20261101', $lt: '20261201'}}",
        "{a: {$gte: '202611010930'}}", "{a: {$gt: '20261101093000'}}", "{a: {$gte: '007'}}", "{a: {$gte: '00001'}}",
    ])
    func comparisonsWithATypeAreAccepted(when: String) throws {
        #expect(try selectorWarnings(when) == [])
    }

    @Test(arguments: [
        ("{name: a, where: {}, then: []}", "'where' is not known to this version: did you mean 'when'?"),
        ("{name: a, when: {}, do: []}", "'do' is not known to this version: did you mean 'then'?"),
        ("{name: a, when: {}, then: [{set: {a: 1}}]}", "'set' is not known to this version: did you mean 'merge'?"),
        ("{name: a, when: {x: {$exists: no}}, then: []}", "'no' is text in YAML 1.2: write false"),
        ("{name: a, when: {x: {$exists: Yes}}, then: []}", "'yes' is text in YAML 1.2: write true"),
        ("{name: a, when: {x: {$exists: 'true'}}, then: []}", "write true, in lower case and without quotes"),
        ("{name: a, when: &w {x: 1}, then: [{merge: {<<: *w}}]}", "merge keys ('<<') are YAML 1.1"),
    ])
    func hintsNameTheIntendedKey(rule: String, hint: String) {
        let found = errors("version: 1\nrules: [\(rule)]\n")
        #expect(found.contains { $0.contains(hint) }, "\(found)")
    }

    @Test func quotedMergeKeyIsAName() throws {
        let set = try ruleSet(lines: "name: a, when: {}, then: [{merge: {'<<': 1}}]")
        #expect(try set.decide("{}").document.string == #"{"<<":1}"#)
    }
}
