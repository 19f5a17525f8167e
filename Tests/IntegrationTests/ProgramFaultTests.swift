import Bots
import Delivery
import DocumentFlow
import JQ
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct ProgramFaultTests {
    /// Regression: a job waited endlessly on a machine that can't run programs.
    @Test func unrunnableProgramsEndAJobWithoutDeadLetters() async throws {
        try await BotTestBed.withEmbedded { bed in
            let text = """
                version: 1
                rules:
                  - name: programmed
                    when: { type: task }
                    then:
                      - merge: { jq: '{done: true}' }
                """
            let rules = try bed.rules(text)
            try #require(rules.jq).shutdown()
            try await bed.load(BotTestBed.tasks(0..<3))
            let failure = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { $0.delivery.retries.retryFor = .milliseconds(200) }
            }
            #expect(failure?.code == .gaveUp)
            let counters = try await bed.runOnce(try bed.rules(text))
            #expect(counters.written == 3 && counters.deadLetters == 0)
        }
    }
}
