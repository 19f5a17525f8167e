import DocumentFlow
import JQ
import Pipeline
import Testing

@testable import Rules

@Suite(.timeLimit(.minutes(5))) struct ProgramFaultTests {
    /// A job waited for such a machine without end.
    @Test func programsThatCannotBeRunEndAJobAndCostNoDocument() async throws {
        try await BotBench.withEmbedded { bench in
            let text = """
                version: 1
                rules:
                  - name: programmed
                    when: { type: task }
                    then:
                      - merge: { jq: '{done: true}' }
                """
            let rules = try bench.rules(text)
            try #require(rules.jq).shutdown()
            try await bench.load(BotBench.tasks(0..<3))
            let failure = await #expect(throws: RunError.self) {
                try await bench.runOnce(rules) { $0.delivery.retries.retryFor = .milliseconds(200) }
            }
            #expect(failure?.code == .gaveUp)
            let counters = try await bench.runOnce(try bench.rules(text))
            #expect(counters.written == 3 && counters.deadLetters == 0)
        }
    }
}
