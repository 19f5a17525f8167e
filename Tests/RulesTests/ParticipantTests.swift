import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Tests in which only some rules of the file take part.
@Suite(.limitedParallelism) struct ParticipantTests {
    private func text(_ only: String) -> String {
        """
        version: 1
        rules:
          - { name: a, when: { type: t }, then: [{ merge: { a: 1 } }] }
          - { name: b, when: { type: t }, then: [{ merge: { b: 1 } }] }
          - { name: c, when: { type: t }, on: [leave], then: [{ put: { id: x, document: {} } }] }
        tests:
          - name: t
            \(only)
            before: { _id: t, type: t }
            given: { _id: t, type: t }
            expect: { fired: [b], patch: [{ op: add, path: /b, value: 1 }] }

        """
    }

    @Test func otherRulesDoNotTakePart() async throws {
        let set = try fileSet(text("only: [c, b]"))
        #expect(await set.runTests(now: 0).map(\.hasPassed) == [true])
        #expect(await set.measureTests(now: 0).results.map(\.hasPassed) == [true])
        #expect(try await fileSet(text("only: [a, b]")).runTests(now: 0).map(\.hasPassed) == [false])
        #expect(try await fileSet(text("# all")).runTests(now: 0).map(\.hasPassed) == [false])
    }

    @Test func unknownRulesAreErrors() {
        #expect(errors(text("only: [d, b]")).contains { $0.contains("there is no rule 'd' in this file") })
        #expect(errors(text("only: b")).contains { $0.contains("'only' must be a list of rule names") })
    }
}
