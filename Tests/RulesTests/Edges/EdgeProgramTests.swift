import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// `$changed` and `$before`, in real helper processes.
@Suite(.limitedParallelism) struct EdgeProgramTests {
    private func memory(_ rule: String) throws -> RuleMemory {
        try RuleMemory(yaml: "version: 1\nrules:\n  - name: a\n    when: { type: task }\n" + rule)
    }

    @Test func programsSeeWhatChanged() async throws {
        var memory = try memory(
            """
                changed: [n, address.city, gone]
                remember: [owner]
                first: fire
                then:
                  - emit: { file: "-", line: { jq: '[$changed, $before]' } }
            """)
        let first = try await memory.look(#"{"_id":"t","type":"task","n":1,"owner":"amy","gone":1.5}"#)
        #expect(first.lines == [#"[["n","gone"],null]"#])
        let second = try await memory.look(#"{"_id":"t","type":"task","n":2,"address":{"city":"Rome","x":1}}"#)
        #expect(second.lines == [#"[["n","address.city","gone"],{"owner":"amy","n":1,"gone":1.5}]"#])
        let third = try await memory.look(#"{"_id":"t","type":"task","n":3,"address":{"city":"Rome"}}"#)
        #expect(third.lines == [#"[["n"],{"n":2,"address":{"city":"Rome"}}]"#])
    }

    @Test func leaveSeesRememberedMembers() async throws {
        var memory = try memory(
            """
                on: [leave]
                remember: [owner.name, list]
                then:
                  - put: { id: { jq: '"gone-" + ._id' }, document: { was: { jq: $before } } }
            """)
        try await memory.look(#"{"_id":"t","type":"task","owner":{"name":"amy","age":9},"list":"l"}"#)
        try await memory.look(#"{"_id":"t","type":"task","owner":{"name":"bob","age":9}}"#)
        let decision = try await memory.look(#"{"_id":"t","_deleted":true}"#, isDeleted: true)
        #expect(decision.puts.map(\.document.string) == [#"{"was":{"owner":{"name":"bob"}},"_id":"gone-t"}"#])
    }

    @Test func conditionOfChangedComparesValues() async throws {
        var memory = try memory(
            """
                changed: [status]
                if: $before.status == "open" and .status == "done"
                then:
                  - emit: { file: "-", line: { jq: '._id' } }
            """)
        func lines(_ status: String) async throws -> [String] {
            try await memory.look(#"{"_id":"t","type":"task","status":"\#(status)"}"#).lines
        }
        #expect(try await lines("done") == [])
        #expect(try await lines("open") == [])
        #expect(try await lines("done") == [#""t""#])
        #expect(try await lines("done") == [])
        #expect(try await lines("waiting") == [])
        #expect(try await lines("done") == [])
    }

    @Test func conditionDecidesWhatEntersAndLeaves() async throws {
        var memory = try memory(
            """
                on: [enter, leave]
                if: .n > 3
                then:
                  - emit: { file: "-", line: { jq: '[.n, $changed, $before]' } }
            """)
        func lines(_ n: Int) async throws -> [String] {
            try await memory.look(#"{"_id":"t","type":"task","n":\#(n)}"#).lines
        }
        #expect(try await lines(1) == [])
        #expect(try await lines(4) == ["[4,[],null]"])
        #expect(try await lines(5) == [])
        #expect(try await lines(2) == ["[2,[],{}]"])
        #expect(try await lines(7) == ["[7,[],{}]"])
    }

    /// Programs of `for_each`, of related documents, and of webhooks.
    @Test func variablesReachAllPrograms() async throws {
        var memory = try memory(
            """
                changed: [tags]
                first: fire
                then:
                  - for_each: (.tags // []) - ($before.tags // []) | .[]
                    emit: { file: "-", line: { jq: '{new: $item, was: $before.tags, $changed}' } }
                  - webhook:
                      url: http://127.0.0.1:9/
                      body: { jq: '{before: $before}' }
                  - related:
                      selector: { list: { jq: '($before.tags // []) | length' } }
                      then: [merge: { was: { jq: '[$before.tags, $changed, $source._id]' } }]
            """)
        try await memory.look(#"{"_id":"t","type":"task","tags":["a"]}"#)
        let decision = try await memory.look(#"{"_id":"t","type":"task","tags":["b","a","c"]}"#)
        #expect(
            decision.lines == [
                #"{"new":"b","was":["a"],"changed":["tags"]}"#, #"{"new":"c","was":["a"],"changed":["tags"]}"#,
            ])
        #expect(decision.outside.last?.content?.string == #"{"before":{"tags":["a"]}}"#)
        let effect = try #require(decision.related.first)
        #expect(effect.selector.excerpt.contains("1"))
        let decider = RelatedDecider(effect, of: DecisionInput(try JSONText(#"{"_id":"t"}"#)), memory.set)
        let related = await decider.decide(on: [try JSONText(#"{"_id":"l","list":1}"#)], now: 0)
        #expect(related.first?.document.string == #"{"_id":"l","list":1,"was":[["a"],["tags"],"t"]}"#)
    }

    /// The edge that programs see is the same after a crash, whatever the revision; each edge has another one.
    @Test func programsSeeTheIDOfTheEdge() async throws {
        var memory = try memory(
            """
                on: [change, leave]
                changed: [n]
                first: fire
                then:
                  - emit: { file: "-", line: { jq: '$change.edge' } }
                  - related: { selector: { a: 1 }, then: [merge: { edge: { jq: '$change.edge' } }] }
              - name: b
                when: { type: task }
                changed: [n]
                first: fire
                then: [emit: { file: "-", line: { jq: '$change.edge' } }]
              - name: c
                when: { type: task }
                then: [emit: { file: "-", line: { jq: '[$change.edge]' } }]
            """)
        func document(_ id: String, _ n: Int, _ revision: Int) -> String {
            #"{"_id":"\#(id)","_rev":"\#(revision)-a","type":"task","n":\#(n)}"#
        }
        var ids: Set<String> = []
        for (n, revision) in [(1, 1), (2, 2), (1, 3), (2, 4)] {
            let lost = try await memory.look(document("t", n, revision), isRecorded: false).lines
            let decision = try await memory.look(document("t", n, revision + 10))
            #expect(decision.lines == lost && lost.count == 3 && lost[2] == "[null]")
            let effect = try #require(decision.related.first)
            let input = DecisionInput(try JSONText(document("t", n, revision + 10)))
            let decider = RelatedDecider(effect, of: input, memory.set)
            let related = await decider.decide(on: [try JSONText(#"{"_id":"l","a":1}"#)], now: 0)
            #expect(related.first?.document.string == #"{"_id":"l","a":1,"edge":\#(lost[0])}"#)
            ids.formUnion(lost.dropLast())
        }
        let left = try await memory.look(#"{"_id":"t","_rev":"9-a","_deleted":true}"#, isDeleted: true).lines
        ids.formUnion(left)
        #expect(left.count == 1 && ids.count == 9)
        let areShort = ids.allSatisfy { $0.count == 26 && $0.dropFirst().dropLast().allSatisfy(\.isHexDigit) }
        #expect(areShort, "\(ids)")
    }

    /// With `change` in `on` and no `changed`, a rule also fires without a difference.
    @Test func withoutADifferenceTheIDBelongsToTheRevision() async throws {
        var memory = try memory(
            """
                on: [change, leave]
                then: [emit: { file: "-", line: { jq: '$change.edge' } }]
            """)
        func lines(_ revision: Int) async throws -> [String] {
            try await memory.look(#"{"_id":"t","_rev":"\#(revision)-a","type":"task"}"#).lines
        }
        let (first, second, again) = (try await lines(1), try await lines(2), try await lines(2))
        #expect(first != second && second == again && first != ["null"])
    }

    @Test func rememberingTooMuchIsAnErrorWithItsPlace() async throws {
        var memory = try memory(
            """
                changed: [text]
                then:
                  - emit: { file: "-", line: { jq: $before.text } }
            """)
        let long = String(repeating: "x", count: 1 << 20)
        let decision = try await memory.look(#"{"_id":"t","type":"task","text":"\#(long)"}"#)
        #expect(
            decision.error?.description
                == "rule 'a': the values to remember have 1048587 bytes, but the limit is 4096 for each document; "
                + "name smaller members in 'remember', or don't use $before (rules.yaml:5:14)")
        #expect(try await memory.look(#"{"_id":"t","type":"task","text":"x"}"#).error == nil)
    }
}
