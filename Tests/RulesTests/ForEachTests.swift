import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Actions that run for each output of a program.
@Suite(.limitedParallelism) struct ForEachTests {
    @Test func allProgramsOfTheActionSeeTheElement() async throws {
        let rules = try ruleSet(
            lines: #"""
                name: a, when: {}, then: [{for_each: '.lines[]', put: {id: {jq: '"\(._id):\($index)"'},
                document: {product: {jq: $item.product}, of: {jq: ._id}}}}]
                """#)
        let decision = try await rules.decided(#"{"_id":"o","lines":[{"product":"apple"},{"product":"coffee"}]}"#)
        #expect(
            decision.puts.map(\.document.string) == [
                #"{"product":"apple","of":"o","_id":"o:0"}"#, #"{"product":"coffee","of":"o","_id":"o:1"}"#,
            ])
        #expect(decision.puts.map(\.rule) == [0, 0])
    }

    @Test func eachElementSeesChangesOfThePreviousOne() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {sum: {$exists: false}}, "
                + "then: [{merge: {sum: 0}}, {merge: {sum: {jq: .sum + $item}}, for_each: {jq: '.lines[]'}}, {merge: {n: 1}}]"
        )
        let decision = try await rules.decided(#"{"_id":"o","lines":[1.5,2,3]}"#)
        #expect(decision.document.string == #"{"_id":"o","lines":[1.5,2,3],"sum":6.5,"n":1}"#)
    }

    @Test func ruleFiresWithoutElementsAndDoesNothing() async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [{for_each: '.lines[]?', merge: {n: {jq: $item}}}]")
        let decision = try await rules.decided(#"{"_id":"o"}"#)
        #expect(decision.fired == [0])
        #expect(!decision.isChanged)
        #expect(decision.error == nil)
    }

    @Test func actionWithoutProgramsRunsForEachElement() async throws {
        let rules = try ruleSet(
            lines:
                "name: a, when: {n: 0}, then: [{for_each: '1, 2', patch: [{op: add, path: /l/-, value: x}]}, {merge: {n: 1}}]"
        )
        let decision = try await rules.decided(#"{"n":0,"l":[]}"#)
        #expect(decision.document.string == #"{"n":1,"l":["x","x"]}"#)
    }

    @Test func numberOfElementsIsBounded() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {n: 0}, then: [{for_each: 'range(.count)', merge: {n: {jq: $item + 1}}}]")
        let most = try await rules.decided(#"{"n":0,"count":1000}"#)
        #expect(most.document.root["n"]?.integer == 1000)
        let tooMany = try await rules.decided(#"{"n":0,"count":1001}"#)
        #expect(
            tooMany.error?.description
                == "rule 'a': for_each: the program gives 1001 elements, but one document may have at most 1000; "
                + "select fewer"
        )
    }

    @Test func errorNamesForEachOrTheAction() async throws {
        let elements = try ruleSet(lines: "name: a, when: {}, then: [{for_each: '.lines[]', merge: {n: 1}}]")
        let failed = try await elements.decided(#"{"lines":5}"#)
        #expect(failed.error?.reason.hasPrefix("for_each: ") == true, "\(String(describing: failed.error))")
        let action = try ruleSet(lines: "name: a, when: {}, then: [{for_each: '.lines[]', merge: {n: {jq: $item.x}}}]")
        let second = try await action.decided(#"{"lines":[{"x":1},5]}"#)
        #expect(second.error?.reason.hasPrefix("merge: ") == true, "\(String(describing: second.error))")
        #expect(!second.isChanged)
    }

    @Test func elementWithAnInexactNumberIsAnError() async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [{for_each: '.lines[]', merge: {n: {jq: $item.x}}}]")
        let decision = try await rules.decided(#"{"lines":[{"x":12345678901234567890}]}"#)
        #expect(
            decision.error?.reason.contains("12345678901234567890") == true, "\(String(describing: decision.error))")
        #expect(!decision.isChanged)
    }

    @Test func otherMembersKeepInexactNumbers() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {n: 0}, then: [{for_each: '.lines[]', merge: {n: {jq: '.lines[0] + $item'}}}]")
        let decision = try await rules.decided(#"{"big":12345678901234567890,"n":0,"lines":[1]}"#)
        #expect(decision.document.string == #"{"big":12345678901234567890,"n":2,"lines":[1]}"#)
    }

    @Test func itemAndIndexExistOnlyWithForEach() {
        let outside = errors("version: 1\nrules:\n- {name: a, when: {}, then: [{merge: {n: {jq: $item}}}]}\n")
        #expect(outside.count == 1)
        #expect(outside.first?.contains("$item is not defined") == true, "\(outside)")
        let inside = errors("version: 1\nrules:\n- {name: a, when: {}, then: [{for_each: $item, merge: {n: 1}}]}\n")
        #expect(inside.first?.contains("$item is not defined") == true, "\(inside)")
    }

    @Test(arguments: [
        ("{for_each: '.l[]', delete: {}}", "'delete' takes effect only once per document"),
        ("{for_each: '.l[]'}", "'for_each' needs an action next to it"),
        ("{for_each: {jq: '.l[]', type: number}, merge: {}}", "'for_each' has no type"),
        ("{for_each: 5, merge: {}}", "a jq program must be text"),
        ("{for_each: '.l[', merge: {}}", "not a jq program"),
        ("{for_each: '.l[]', merge: {}, detach: a}", "each list element must be one action, not 2"),
    ])
    func invalidStepsAreRefused(step: String, message: String) {
        let found = errors("version: 1\nrules:\n- {name: a, when: {}, then: [\(step)]}\n")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func hashDependsOnForEach() throws {
        func hash(_ step: String) throws -> String {
            try ruleSet(lines: "name: a, when: {}, then: [\(step)]").hash
        }
        let file = "attach: {name: {jq: $item}, file: \(#filePath)}"
        let hashes = try [
            hash("{for_each: '.a[]', \(file)}"), hash("{for_each: '.b[]', \(file)}"),
            hash("{for_each: '.a[]', merge: {}}"), hash("{for_each: '.b[]', merge: {}}"), hash("{merge: {}}"),
        ]
        #expect(Set(hashes).count == hashes.count)
    }

    @Test func checksExpectThatThereMayBeNoElement() throws {
        // With a plain merge, these two rules would undo each other.
        let lines = [
            "name: a, when: {n: 1}, then: [{for_each: '.l[]', merge: {n: 2}}]",
            "name: b, when: {n: 2}, then: [{merge: {n: 1}}]",
        ]
        #expect(try warnings(lines) == [])
        let plain = [lines[0].replacing("for_each: '.l[]', ", with: ""), lines[1]]
        #expect(try !warnings(plain).isEmpty)
    }
}
