import Foundation
import TestKit
import Testing

/// What measures the program.
@Suite(.timeLimit(.minutes(5))) struct BenchmarkTests {
    /// It waited for ever for a bot that could not start.
    @Test func aBenchmarkThatLacksItsRulesSaysSo() async throws {
        try await Program.withDirectory { folder in
            let errors = folder + "/errors"
            let process = try ChildProcess(
                ["/usr/bin/env", "-C", folder, Program.path + "-bench", "bot"], errors: errors)
            #expect(await process.wait() == 66)
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(text.contains("there is no rules/attach-images.yaml; "), "\(text)")
        }
    }
}
