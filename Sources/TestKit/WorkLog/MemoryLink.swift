package import Fleet
internal import Locking

/// A link to a ``MemoryEngine`` with configurable faults.
package final class MemoryLink: EngineLink {
    package struct Faults: Sendable {
        /// No call reaches the engine.
        package var isUnavailable = false
        /// The number of upcoming changes that are carried out without an answer.
        package var answersToLose = 0
        /// The delay of each call on its way to the engine.
        package var latency = Duration.zero
        /// Calls wait until this is false, or `timeout` passes.
        package var isFrozen = false
        /// The time after which a call of a frozen engine fails.
        package var timeout = Duration.seconds(3)

        package init() {}
    }

    private let state = Locked(Faults())
    private let clock: any FleetClock

    /// Creates a link without faults.
    package init(clock: any FleetClock) { self.clock = clock }

    package var faults: Faults {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    package func call<Result: Sendable>(
        isChange: Bool, _ body: @escaping @Sendable () throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result {
        let faults = faults
        if faults.isUnavailable { throw .unavailable("a fault") }
        if faults.latency > .zero { try await sleep(faults.latency) }
        let end = clock.now + faults.timeout
        while self.faults.isFrozen {
            guard clock.now < end else { throw .unavailable("the engine is frozen") }
            try await sleep(min(.milliseconds(100), end - clock.now))
        }
        let result = try body()
        let isLost =
            isChange
            && state.withLock { faults in
                guard faults.answersToLose > 0 else { return false }
                faults.answersToLose -= 1
                return true
            }
        if isLost { throw .unknownCommit("a fault: the answer is lost") }
        return result
    }

    private func sleep(_ time: Duration) async throws(WorkLogError) {
        do { try await clock.sleep(for: time) } catch { throw .unavailable("cancelled") }
    }
}
