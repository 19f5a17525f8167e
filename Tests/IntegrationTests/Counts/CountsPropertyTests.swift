import BotState
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Rules
import TestKit
import Testing

/// Random changes, moves and deletions, a gateway that fails at random, and a bot that is killed at random places. In
/// the end, the totals are those of a full count. `CHANGEBOT_SEEDS=100` tries the first hundred seeds.
@Suite(.limitedParallelism(minutes: 10, isLong: true), .disabled(if: TestEngine.isUsedByAllTests, "Death leaves files"))
struct CountsPropertyTests {
    private static let troubles = [
        "", "",
        #"{"latency":["0ms","8ms"],"share":0.5}"#,
        #"{"on":"_bulk_docs","drop":"after","share":0.2}"#,
        #"{"refuse_documents":{"share":0.2,"status":[503,409,500]}}"#,
        #"{"duplicate":0.3},{"reorder":4}"#,
        #"{"on":"_changes","cut":[0,3000],"share":0.3},{"rewind":8,"share":0.3}"#,
    ]

    private static let places: [CrashPoint] = [
        .decided, .written, .recorded, .finished, .checkpointSaved, .totalsWritten,
        .countsCompleted, .othersWritten, .othersRemembered,
    ]

    private static let seeds =
        ProcessInfo.processInfo.environment["CHANGEBOT_SEEDS"].flatMap { Int($0) }
        .map { Array(1...max(1, $0)) } ?? [1, 2, 3, 4]

    @Test(arguments: seeds) func totalsEqualAFullCount(seed: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            var random = SplitMix64(seed: UInt64(seed))
            let rules = try bed.rules(CountsModel.rules)
            let model = CountsModel(phone: bed.phone, tasks: 25)
            for _ in 0..<40 { try await model.edit(&random) }
            var round = 0
            for _ in 0..<3 + random.below(3) {
                try gateway.injectFaults(random.pick(Self.troubles))
                let death = Death(at: random.pick(Self.places), time: 1 + random.below(3))
                let isOneShot = random.chance(2)
                let phones = (0..<2).map { _ in SplitMix64(seed: random.next()) }
                try await withThrowingTaskGroup { group in
                    for phone in phones {
                        group.addTask {
                            var random = phone
                            for _ in 0..<20 + random.below(20) { try await model.edit(&random) }
                        }
                    }
                    let run = Task { [round] in
                        try await death.run(
                            bed, rules, (this: "state\(round)", next: "state\(round + 1)"), once: isOneShot)
                    }
                    try await group.waitForAll()
                    // Stops a daemon that was not killed.
                    if !isOneShot { run.cancel() }
                    try await run.value
                }
                round += 1
            }
            gateway.stopFaults()
            let state = "state\(round)"
            try await bed.runOnce(rules, state: state)
            try await model.check("seed \(seed)")
            #expect(try await bed.runOnce(rules, state: state).written == 0, "seed \(seed)")
            // Losing the state changes nothing.
            try await bed.runOnce(rules, state: "lost")
            try await model.check("seed \(seed), counted again")
        }
    }
}
