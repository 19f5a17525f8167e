import Foundation
import TestKit
import Testing

/// `changebot-simulate`: each kind of trouble occurs, and an error that it reveals is found.
@Suite(.limitedParallelism) struct SimulationTroubleTests {
    /// Within 12,000 steps, with one kind of trouble.
    @Test(
        arguments: [
            ("ignored-stop", "5", "graceful-stop", "The bot keeps running"),
            ("lost-sequence", "3", "skipped-sequence", "1. The checkpoint never passes unfinished work"),
            ("hidden-reset", "5", "gateway-reset", "8. A reset is noticed"),
            ("repeated-login", "1", "password-change", "A refused password is sent at most twice in five minutes"),
        ])
    func errorIsFound(error: String, seed: String, fault: String, guarantee: String) async throws {
        let result = try await Program.simulate([
            "--seed", seed, "--gateway", "sync-gateway", "--steps", "12000", "--break", error, "--faults", "\(fault)=1",
        ])
        #expect(result.code == 1, "\(result.output)\(result.errors)")
        #expect(result.output.contains("guarantee  \(guarantee)"), "\(result.output)")
    }

    /// One kind alone, in each round: the guarantees hold.
    @Test(
        arguments: [
            "graceful-stop", "reload", "password-change", "compaction", "old-disk", "lost-disk", "gateway-reset",
            "gateway-restore", "lost-mark", "skipped-sequence",
        ])
    func guaranteesHold(fault: String) async throws {
        let result = try await Program.simulate([
            "--seed", "5", "--gateway", "sync-gateway", "--documents", "3", "--steps", "8000", "--faults",
            "\(fault)=1",
        ])
        #expect(result.code == 0, "\(result.output)\(result.errors)")
        let line = result.output.split(separator: "\n").first { $0.hasPrefix(fault + " ") }
        let count = try #require(line.flatMap { Int($0.split(separator: " ").last ?? "") })
        // These two need a copy that was made before, and a round may have none.
        if !["gateway-restore", "old-disk"].contains(fault) { #expect(count > 0) }
    }

    @Test func answersAreReorderedAndNodesAreLate() async throws {
        let result = try await Program.simulate([
            "--seed", "3", "--steps", "8000", "--faults", "late-node=0.2,reordered-answer=0.2",
        ])
        #expect(result.code == 0, "\(result.output)\(result.errors)")
        for kind in ["late-node", "reordered-answer"] {
            let line = result.output.split(separator: "\n").first { $0.hasPrefix(kind) }
            #expect(line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0 > 20, "\(kind)")
        }
    }
}
