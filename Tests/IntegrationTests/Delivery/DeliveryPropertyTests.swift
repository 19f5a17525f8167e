import DocumentFlow
import EmbeddedGateway
import Foundation
import GRDB
import GatewayClient
import Locking
import Pipeline
import Rules
import TestKit
import Testing

/// Random edits, a gateway that fails at random, a bot that dies at random places: in the end each effect is that of the
/// last edit, and nothing was written twice.
///
/// What fails can be repeated: the seed is the argument. `CHANGEBOT_SEEDS=100` tries the first hundred; without it
/// those few that have found defects which were put back on purpose.
@Suite(.timeLimit(.minutes(5)), .serialized) struct DeliveryPropertyTests {
    private static let troubles = [
        "",
        #"{"latency":["0ms","8ms"],"share":0.5}"#,
        #"{"on":["_all_docs","_bulk_docs"],"latency":["0ms","40ms"],"share":0.5}"#,
        #"{"on":"_bulk_docs","drop":"after","share":0.2}"#,
        #"{"on":"_bulk_docs","drop":"before","share":0.2},{"on":"_all_docs","latency":["0ms","10ms"]}"#,
        #"{"refuse_documents":{"share":0.2,"status":[503,409,500]}}"#,
        #"{"duplicate":0.3},{"reorder":4}"#,
        #"{"on":"_changes","cut":[0,3000],"share":0.3},{"rewind":8,"share":0.3}"#,
        #"{"on":"_bulk_docs","latency":["0ms","20ms"]},{"last_seq_early":3}"#,
    ]

    /// Where those places that a run passes once, at its start, are few: most deaths are between two effects.
    private static let places: [CrashPoint] = [
        .decided, .othersWritten, .othersRemembered, .written, .deadLettersSaved, .ownRevisionsSaved, .finished,
        .checkpointSaved, .checkpointCopied,
    ]

    private static let seeds =
        ProcessInfo.processInfo.environment["CHANGEBOT_SEEDS"].flatMap { Int($0) }
        .map { Array(1...max(1, $0)) } ?? [3, 7, 16, 17, 27, 34]

    @Test(arguments: seeds)
    func inTheEndEachEffectIsThatOfTheLastEdit(seed: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            var random = SplitMix64(seed: UInt64(seed))
            let rules = try bed.rules(DeliveryModel.rules)
            let model = DeliveryModel(bed.phone)
            try await model.create()
            let rounds = 2 + random.below(3)
            for round in 0..<rounds {
                try gateway.misbehave(random.pick(Self.troubles))
                let death = Death(at: random.pick(Self.places), time: 1 + random.below(4))
                let isOneShot = random.chance(2)
                let phones = (0..<DeliveryModel.phones).map { _ in SplitMix64(seed: random.next()) }
                try await withThrowingTaskGroup { group in
                    for (number, phone) in phones.enumerated() {
                        group.addTask {
                            var random = phone
                            for _ in 0..<8 + random.below(8) { try await model.edit(&random, by: number) }
                        }
                    }
                    // Another job looks at the same documents, sometimes: it holds older contents than the bot, or newer.
                    if random.chance(2) {
                        group.addTask { _ = try await bed.fix(rules, state: "fix\(round)") { $0.isPass = true } }
                    }
                    let run = Task { try await self.run(bed, rules, round, once: isOneShot, until: death) }
                    try await group.waitForAll()
                    // A daemon that did not die is stopped here.
                    if !isOneShot { run.cancel() }
                    try await run.value
                }
            }
            gateway.behave()
            let state = Self.state(rounds)
            try await bed.runOnce(rules, state: state)
            try await model.check("seed \(seed)")
            #expect(try await bed.runOnce(rules, state: state).written == 0, "seed \(seed)")
            let ledger = try bed.ledger(rules, state: state)
            defer { ledger.close() }
            #expect(Set(try ledger.deadLetters().map(\.id)) == DeliveryModel.deadLettered, "seed \(seed)")
        }
    }

    /// The folder of the state that a round begins with: a process that died leaves it to the next.
    private static func state(_ round: Int) -> String { "state\(round)" }

    /// A run that dies at a place, or ends before it comes there. It leaves the next round its state as it was then.
    private func run(
        _ bed: BotTestBed, _ rules: RuleSet, _ round: Int, once: Bool, until death: Death
    ) async throws {
        let folders = [round, round + 1].map { "\(bed.directory)/\(Self.state($0))" }
        try FileManager.default.createDirectory(atPath: folders[0], withIntermediateDirectories: true)
        let (bot, _) = try bed.bot(rules, state: Self.state(round), once: once)
        let run = Task {
            try await CrashPoint.$observer.withValue({ death.pass($0, leaving: folders) }) { try await bot.run() }
        }
        death.kills { run.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await run.value
            } onCancel: {
                run.cancel()
            }
        } catch {
            // What a dead process would have said doesn't matter.
            guard death.hasCome || error is CancellationError else { throw error }
        }
        if !death.hasCome { try FileManager.default.moveItem(atPath: folders[0], toPath: folders[1]) }
    }
}

/// The end of a process in the middle of its work, as far as others can tell: its state is left as it is at this place,
/// and it asks the gateway for nothing more.
private final class Death: Sendable {
    private struct State {
        var passed = 0
        var hasCome = false
        var kill: (@Sendable () -> Void)?
    }

    private let place: CrashPoint
    private let time: Int
    private let state = Locked(State())

    /// - Parameter time: The Nth time that the place is passed.
    init(at place: CrashPoint, time: Int) {
        self.place = place
        self.time = time
    }

    var hasCome: Bool { state.withLock { $0.hasCome } }

    func kills(_ kill: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.kill = kill
            return state.hasCome
        }
        if hasCome { kill() }
    }

    /// - Parameter folders: Of the state, and where it is left.
    func pass(_ place: CrashPoint, leaving folders: [String]) {
        guard place == self.place else { return }
        let kill: (@Sendable () -> Void)? = state.withLock { state in
            state.passed += 1
            guard state.passed == time else { return nil }
            state.hasCome = true
            Self.copy(folders)
            return state.kill ?? {}
        }
        kill?()
    }

    /// What SQLite has committed, as after a kill.
    private static func copy(_ folders: [String]) {
        do {
            try FileManager.default.createDirectory(atPath: folders[1], withIntermediateDirectories: true)
            for file in try FileManager.default.contentsOfDirectory(atPath: folders[0]) where file.hasSuffix(".sqlite")
            {
                let live = try DatabaseQueue(path: "\(folders[0])/\(file)")
                let left = try DatabaseQueue(path: "\(folders[1])/\(file)")
                try live.backup(to: left)
                try left.close()
                try live.close()
            }
        } catch {
            Issue.record("the state can't be copied: \(error)")
        }
    }
}
