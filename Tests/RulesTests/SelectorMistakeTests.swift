import Testing

@testable import Rules

/// Selectors that are legal, but do not mean what a newcomer expects. Most were accepted in silence.
@Suite struct SelectorMistakeTests {
    @Test(arguments: [
        // `$lt: { jq: … }` holds for every text, so a `delete` below it deleted everything.
        ("{a: {$lt: {jq: '$now | todate'}}}", "selectors can't compute values, so this compares with the object"),
        ("{a: {$eq: {jq: .b}}}", "compare in a program: if: .field == .other [not-a-program]"),
        ("{a: {$in: [1, {jq: .b}]}}", "[not-a-program]"),
        ("{or: [{a: 1}, {b: 2}]}", "'or' is read as the name of a field; write '$or' for the operator"),
        ("{a: 1, not: {b: 2}}", "write '$not' for the operator"), ("{and: [{a: 1}]}", "write '$and' for the operator"),
        ("{a: {in: [x, y]}}", "write '$in' for the operator"), ("{a: {ne: true}}", "write '$ne' for the operator"),
        ("{type: [loan, gift]}", "for any of these values write type: { $in: [loan, gift] } [field-name]"),
        ("{a: '> 21'}", "'> 21' is a string, not a condition; write { $gt: 21 } [not-an-operator]"),
        ("{a: '!= done'}", "write { $ne: done }"), ("{a: '<=3'}", "write { $lte: 3 }"),
        ("{a: loan || gift}", "for any of these values write { $in: [loan, gift] }"),
        ("{a: loan|gift}", "write { $in: [loan, gift] }"),
        ("{a: “loan”}", "the quotes in “loan” are part of the string; write straight quotes, \"loan\", or none"),
        ("{'beds[1].crop': bean}", "write beds.1.crop for an element of a list"),
        ("{'beds[].crop': bean}", "write beds: { $elemMatch: { crop: … } } for any element of a list"),
        ("{beds.*.crop: bean}", "write beds: { $elemMatch: { crop: … } } for any element of a list"),
        ("{'crop ': bean}", "'crop ' is read as a name with a space around it; remove the space"),
        ("{a: {$lt: 21d}}", "'21d' is compared as text, not as a time; compare in a program"),
        ("{a: {$lt: now}}", "'now' is compared as text, not as a time"),
        ("{a: {$gte: 01.05.2026}}", "'01.05.2026' is compared as text, from the left, so not by time"),
    ])
    func mistakeIsReportedOnce(when: String, part: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        "{or: true, and: [1], not: 1, in: 3, ne: 4}", "{a: {$in: [{b: 1}]}}", "{tags: [loan, gift]}", "{type: [loan]}",
        "{a: '->', b: '<br>', c: '=', d: 'x > 3'}", "{a: 'a | b c', b: '|', c: 'a|'}", "{a: '“loan” is here'}",
        "{a: \"“loan”\"}", "{'a[x]': 1, 'b c': 2}", "{a: {$gte: 2026-05-01, $lt: '2027'}}", "{a: {$gte: m}}",
        "{a: {$eq: {jq: .b, c: 1}}}",
    ])
    func intendedSelectorIsAccepted(when: String) throws {
        #expect(try selectorWarnings(when) == [])
    }

    @Test(arguments: [
        ("{if: .a == 1}", "'if' in 'when' is read as the name of a field"),
        ("{at: .dueAt}", "'at' in 'when' is read as the name of a field"),
        ("{unless: {a: no}}", "'unless' in 'when' is read as the name of a field"),
    ])
    func misplacedKeyIsOneMistake(when: String, part: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        ("reminded: {$ne: true}", "unless: { reminded: { $eq: true } }"),
        ("reminded: {$nin: [true, 1]}", "unless: { reminded: { $in: [true, 1] } }"),
        ("reminded: {$not: {$eq: true}}", "unless: { reminded: { $eq: true } }"),
    ])
    func conditionThatNeedsTheMemberItsRuleWritesIsReported(condition: String, remedy: String) throws {
        let found = try warnings(["name: a, when: {type: loan, \(condition)}, then: [merge: {reminded: true}]"])
        #expect(found.count == 1 && found[0].contains(remedy), "\(found)")
        #expect(found.first?.contains("does not hold for documents without the member") == true)
        #expect(found.first?.hasSuffix("[missing-member]") == true)
    }

    @Test(arguments: [
        "name: a, when: {type: loan, state: {$ne: open}}, then: [merge: {state: open}]",
        "name: a, when: {type: loan, other: {$ne: true}}, then: [put: {id: x, document: {reminded: true}}]",
        "name: a, when: {type: loan}, unless: {reminded: true}, then: [merge: {reminded: true}]",
        "name: a, when: {type: loan, reminded: false}, then: [merge: {reminded: true}]",
    ])
    func otherConditionsAreAccepted(rule: String) throws {
        #expect(try warnings([rule]) == [])
    }
}
