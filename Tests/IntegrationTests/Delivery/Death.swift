import BotState
import Bots
import Foundation
import GRDB
import Locking
import Rules
import Testing

/// The end of a process in the middle of its work, as others see it: its state is copied at this place, and it makes no
/// further requests.
final class Death: Sendable {
    private struct State {
        var passed = 0
        var hasHappened = false
        var kill: (@Sendable () -> Void)?
    }

    private let place: CrashPoint
    private let time: Int
    private let beforeCopy: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - time: At which visit of the place the process dies: 1 for the first.
    ///   - beforeCopy: Called before the state is copied.
    init(at place: CrashPoint, time: Int = 1, beforeCopy: @escaping @Sendable () -> Void = {}) {
        (self.place, self.time, self.beforeCopy) = (place, time, beforeCopy)
    }

    var hasHappened: Bool { state.withLock { $0.hasHappened } }

    func kills(_ kill: @escaping @Sendable () -> Void) {
        let hasHappened = state.withLock { state in
            state.kill = kill
            return state.hasHappened
        }
        if hasHappened { kill() }
    }

    /// - Parameter folders: The folder of the state, and the folder for its copy.
    func pass(_ place: CrashPoint, leaving folders: [String]) {
        guard place == self.place else { return }
        let kill: (@Sendable () -> Void)? = state.withLock { state in
            state.passed += 1
            guard state.passed == time else { return nil }
            state.hasHappened = true
            beforeCopy()
            Self.copy(folders)
            return state.kill ?? {}
        }
        kill?()
    }

    /// Copies what SQLite has committed, as after a kill.
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

    // MARK: - A run

    /// Runs until the process dies at the place, or ends before it gets there. The next run gets a copy of the state at
    /// that moment.
    ///
    /// - Parameter states: The folder of its state, and the folder for the copy.
    func run(
        _ bed: BotTestBed, _ rules: RuleSet, _ states: (this: String, next: String), once: Bool,
        configure: (inout BotSettings) -> Void = { _ in }
    ) async throws {
        let folders = [states.this, states.next].map { "\(bed.directory)/\($0)" }
        try FileManager.default.createDirectory(atPath: folders[0], withIntermediateDirectories: true)
        let (bot, _) = try bed.bot(rules, state: states.this, once: once, configure: configure)
        let run = Task {
            try await CrashPoint.$observer.withValue({ self.pass($0, leaving: folders) }) { try await bot.run() }
        }
        kills { run.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await run.value
            } onCancel: {
                run.cancel()
            }
        } catch {
            // Errors of a dead process do not matter.
            guard hasHappened || error is CancellationError else { throw error }
        }
        if !hasHappened { try FileManager.default.moveItem(atPath: folders[0], toPath: folders[1]) }
    }
}
