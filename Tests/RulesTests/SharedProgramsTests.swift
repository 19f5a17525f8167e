import TestKit
import Testing

@testable import Rules

/// Rule sets of a text that is being edited.
@Suite(.limitedParallelism) struct SharedProgramsTests {
    private func rules(_ program: String, type: String, sharing earlier: RuleSet?) throws -> RuleSet {
        let text = """
            version: 1
            rules:
              - { name: r, when: { type: \(type) }, then: [{ merge: { x: { jq: "\(program)" } } }] }
            """
        let read = RuleFileSet.read(path: "r.yaml", bytes: Array(text.utf8), attachments: .nowhere)
        return try #require(read.set.firstFileRules(sharing: earlier))
    }

    @Test func sameProgramsShareTheirProcesses() throws {
        let first = try rules(".a + 1", type: "task", sharing: nil)
        let second = try rules(".a + 1", type: "list", sharing: first)
        let third = try rules(".a + 2", type: "list", sharing: second)
        #expect(first.jq != nil && first.jq === second.jq)
        #expect(third.jq != nil && third.jq !== second.jq)
    }
}
