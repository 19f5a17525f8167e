import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `rules plan` compares two versions of rules on the documents of a gateway.
@Suite(.limitedParallelism) struct RulesPlanTests {
    private static let documents = [
        #"{"_id":"a","type":"task","task":"apple","n":1}"#,
        #"{"_id":"b","type":"task","task":"pear"}"#,
        #"{"_id":"c","type":"task","task":"plum"}"#,
        #"{"_id":"d","type":"list"}"#,
    ]
    private static let old = """
          - name: apple
            when: { task: apple, fruit: { $exists: false } }
            then: [merge: { fruit: true }]
          - name: pear
            when: { task: pear }
            then: [merge: { fruit: old }]

        """

    /// Runs `rules plan` with the old rules and these.
    private func plan(_ new: String, _ more: String...) async throws -> Program.Result {
        var result: Program.Result?
        try await CommandTestBed.with(Self.documents, rules: Self.old) { bed in
            result = try await run(bed, new, more)
            for id in ["a", "b", "c", "d"] as [DocumentID] {
                #expect(try await bed.document(id)?.root["_rev"]?.string?.first == "1")
            }
        }
        return try #require(result)
    }

    private func run(_ bed: CommandTestBed, _ new: String, _ more: [String]) async throws -> Program.Result {
        let file = bed.folder + "/new.yaml"
        try Data(("version: 1\nrules:\n" + new).utf8).write(to: URL(fileURLWithPath: file))
        return try await Program.run(["rules", "plan", bed.folder + "/r.yaml", file, "--gateway", bed.url] + more)
    }

    @Test func renamedRuleDiffersForNoDocument() async throws {
        let result = try await plan(Self.old.replacing("name: apple", with: "name: an-apple"))
        #expect(result.code == 0 && result.errors == "")
        #expect(
            result.output == """
                                   old  new  differ
                an-apple             -    1       0
                pear                 1    1       0
                apple                1    -       0
                documents touched    2    2       0

                added: an-apple
                removed: apple
                4 documents: as they are now, both versions do the same to them

                """)
    }

    @Test func documentsThatDifferAreShown() async throws {
        let new = """
              - name: apple
                when: { task: { $in: [apple, plum] }, fruit: { $exists: false } }
                then: [merge: { fruit: true }]
              - name: pear
                when: { task: peer }
                then: [merge: { fruit: old }]

            """
        let result = try await plan(new)
        #expect(result.code == 0 && result.errors == "")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "== b")
        #expect(lines.contains("new: leaves it unchanged") && lines.contains("old: leaves it unchanged"))
        #expect(lines.contains("== c") && !lines.contains("== a") && !lines.contains("== d"))
        #expect(
            lines.last == "4 documents: 2 differ (1 touched only with new, 1 only with old, 0 differently)")
        let short = try await plan(new, "--show", "1")
        #expect(!short.output.contains("== c"))
        #expect(short.output.contains("… 1 more; --show N shows more"))
    }

    /// Regression: documents of one rule that come first hid those of the others.
    @Test func everyRuleThatDiffersIsShown() async throws {
        let new =
            Self.old + """
                  - name: type
                    when: { type: { $in: [task, list] } }
                    then: [merge: { seen: true }]
                  - name: lists
                    when: { type: list }
                    then: [merge: { list: true }]

                """
        let result = try await plan(new, "--show", "2")
        let shown = result.output.split(separator: "\n").filter { $0.hasPrefix("== ") }
        #expect(shown == ["== a", "== d"], "\(result.output)")
        #expect(result.output.contains("type                 -    4       4\n"))
        #expect(result.output.contains("lists                -    1       1\n"))
        #expect(result.output.contains("apple                1    1       0\n"))
        #expect(result.output.contains("… 2 more; --show N shows more"))
    }

    @Test func jsonHasEveryDifferenceAndTheCounts() async throws {
        let new = Self.old.replacing("fruit: old", with: "fruit: new").replacing("task: apple,", with: "task: none,")
        let result = try await plan(new, "--json", "--show", "0")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix(#"{"id":"a","old":{"id":"a","revision":"1-"#) == true)
        #expect(
            lines.last
                == #"{"documents":4,"unreadable":0,"only_new":0,"only_old":1,"different":1,"rules":{"changed":["apple","pear"],"added":[],"removed":[]},"differ":{"apple":1,"pear":1},"old":{"touched":2,"dead_letters":0,"fired":{"apple":1,"pear":1}},"new":{"touched":1,"dead_letters":0,"fired":{"apple":0,"pear":1}}}"#
        )
    }

    @Test func effectsAndFailuresAreCompared() async throws {
        let new = """
              - name: pear
                when: { task: pear }
                then: [merge: { fruit: { jq: 'error("no")' } }]
              - name: sum
                when: { type: task }
                then: [aggregate: { into: totals, document: { type: totals }, sum: { n: { jq: .n } } }]

            """
        let result = try await plan(new)
        #expect(result.output.contains("! dead-lettered: "))
        #expect(result.output.contains("adds to totals: n 1"))
        #expect(result.output.contains("dead letters"))
    }

    @Test func selectorRestrictsBothVersions() async throws {
        let result = try await plan(
            Self.old.replacing("task: pear", with: "task: plum"), "--selector", #"{"task":"plum"}"#)
        #expect(
            result.output.hasSuffix("1 document: 1 differ (1 touched only with new, 0 only with old, 0 differently)\n")
        )
    }

    @Test func rulesThatCompareAreLeftOut() async throws {
        let edge = """
              - name: done
                when: { type: task }
                changed: [task]
                then: [merge: { fruit: true }]

            """
        let result = try await plan(edge, "--show", "0")
        #expect(
            result.errors.contains(
                "left out, because they fire only for later changes ('changed', enter, leave): 'done'"))
        #expect(!result.output.contains("done  "))
        #expect(result.output.contains("\nadded: done\nremoved: apple, pear\n"))
    }

    @Test func badInputHasTheExitCodesOfTheOtherCommands() async throws {
        try await CommandTestBed.with(rules: Self.old) { bed in
            let missing = try await Program.run(
                ["rules", "plan", bed.folder + "/r.yaml", bed.folder + "/none.yaml", "--gateway", bed.url])
            #expect(missing.code == 66)
            let broken = try await run(bed, "  - name: 5\n", [])
            #expect(broken.code == 65 && broken.errors.contains("new.yaml:3:"))
            #expect(try await run(bed, Self.old, ["--selector", "{"]).code == 65)
            let without = try await Program.run(["rules", "plan", bed.folder + "/r.yaml", bed.folder + "/r.yaml"])
            #expect(without.code == 64 && without.errors.contains("--gateway"))
        }
    }
}
