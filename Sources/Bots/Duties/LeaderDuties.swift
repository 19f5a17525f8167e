internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Fleet
internal import Locking

/// The duties of several members that share the work. The leader works on them.
final class LeaderDuties: LeaderDuty {
    /// How often they look for what other members have noted, and after how long they go on after an error.
    private static let interval: Duration = .seconds(1)

    private let makers: [Duty.Maker]
    private let failure = Monitor<(any Error)?>(nil)

    /// None is under way before this member leads.
    init(_ makers: [Duty.Maker]) { self.makers = makers }

    /// Returns never, unless something has gone wrong that no retry can mend.
    ///
    /// - Throws: That, or `CancellationError`.
    func untilFailed() async throws {
        await failure.wait { $0 != nil }
        try Task.checkCancellation()
        if let error = failure.quietly({ $0 }) { throw error }
    }

    func work(_ term: LeaderTerm) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for make in makers { group.addTask { try await self.work(term, make) } }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
    }

    /// Begins again after errors of the engine. The caller cancels this when the tenure ends.
    private func work(_ term: LeaderTerm, _ make: Duty.Maker) async throws {
        while true {
            do {
                var duty = make()
                return try await duty.work(LogBringer(term), every: Self.interval, until: Monitor(false))
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
