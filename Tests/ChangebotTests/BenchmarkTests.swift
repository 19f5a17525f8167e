import Foundation
import GatewayClient
import TestKit
import Testing

/// The benchmarks of the program.
@Suite(.limitedParallelism) struct BenchmarkTests {
    /// Regression: it waited forever for a bot that could not start.
    @Test func benchmarkWithoutItsRulesIsReported() async throws {
        try await Program.withDirectory { folder in
            let errors = folder + "/errors"
            let process = try ChildProcess(
                ["/usr/bin/env", "-C", folder, Program.path + "-bench", "wire"], errors: errors)
            #expect(await process.wait() == 66)
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(text.contains("there is no rules/attach-images.yaml; "), "\(text)")
        }
    }

    /// The figures are those of the program's own summary.
    @Test func jobsAreMeasuredAgainstAnyGateway() async throws {
        try await Program.withDirectory { folder in
            try await Program.withGateway { url in
                let figures = folder + "/figures.json"
                let process = try ChildProcess([
                    Program.path + "-bench", "gateway", url, "--documents", "1000", "--rounds", "1", "--cases",
                    "feed-none", "feed-all", "fix-all", "export-gz", "--json", figures,
                ])
                let output = String(decoding: await process.readToEnd(), as: UTF8.self)
                #expect(await process.wait() == 0, "\(output)")
                for name in ["feed-all", "fix-all"] {
                    #expect(output.contains("\n  \(name) "), "\(output)")
                    let measured = try String(contentsOfFile: figures, encoding: .utf8)
                    #expect(measured.contains(#""case":"\#(name)","measure":"changebot: documents per request""#))
                }
                // Whether the target is reached depends on the machine.
                #expect(output.contains("  feed-all: changebot: documents per request at least 100.0: "), "\(output)")
            }
        }
    }

    @Test func benchmarkRefusesAForeignKeyspace() async throws {
        try await Program.withDirectory { folder in
            try await Program.withGateway { url in
                let gateway = Gateway(try GatewayURL(url))
                try await gateway.put("mine", body: Array("{}".utf8))
                let errors = folder + "/errors"
                let process = try ChildProcess([Program.path + "-bench", "gateway", url], errors: errors)
                #expect(await process.wait() == 1)
                let text = try String(contentsOfFile: errors, encoding: .utf8)
                #expect(text.contains("has other documents, such as 'mine'"), "\(text)")
                let mine = try await gateway.allDocs(keys: ["mine", "bench-task-00000000"])
                if case .missing = mine[1] {} else { Issue.record("\(mine)") }
                await gateway.shutdown()
            }
        }
    }
}
