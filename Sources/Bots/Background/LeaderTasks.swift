internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Fleet
internal import Locking

/// The background tasks of a fleet that shares its work. The leader runs them.
final class LeaderTasks: LeaderTask {
    /// How often the tasks check for work that other members have recorded, and the pause after an error.
    private static let interval: Duration = .seconds(1)

    private let factories: [BackgroundTask.Factory]
    private let failure = Monitor<(any Error)?>(nil)

    /// The tasks start when this member becomes the leader.
    init(_ factories: [BackgroundTask.Factory]) { self.factories = factories }

    /// Waits until a task fails with an error that no retry can fix. Never returns normally.
    ///
    /// - Throws: That error, or `CancellationError`.
    func waitUntilFailed() async throws {
        await failure.wait { $0 != nil }
        try Task.checkCancellation()
        if let error = failure.quietly({ $0 }) { throw error }
    }

    func work(_ term: LeaderTerm) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for make in factories { group.addTask { try await self.work(term, make) } }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
    }

    /// Runs a task, and restarts it after engine errors. The caller cancels it when the term ends.
    private func work(_ term: LeaderTerm, _ make: BackgroundTask.Factory) async throws {
        while true {
            do {
                var task = make()
                return try await task.work(LogEnqueuer(term), every: Self.interval, until: Monitor(false))
            } catch let error as WorkLogError {
                guard case .unavailable = error else { throw error }
            } catch let error as StateError {
                switch error {
                case .engineUnavailable, .fenced, .locked: break
                default: failure.with { $0 = $0 ?? error }
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure.with { $0 = $0 ?? error }
            }
            try await Task.sleep(for: Self.interval)
        }
    }
}
